import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { findPython } from '../support/processes/python.ts'

const schemas = new URL('../../schemas/', import.meta.url)
const python = await findPython()

if (python === undefined) {
  console.log('Skipped: the Python sample needs Python 3.10+ with pydantic 2 and jsonschema.')
} else {
  it('the Python sample of the README runs and creates a valid message', async () => {
    const page = await readFile(new URL('README.md', schemas), 'utf8')
    const sample = /^```python\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
    const example = JSON.parse(await readFile(new URL('json/v1.1.0/request-message.json', schemas), 'utf8')).examples[0]
    const script = sample.replace('\nRequestMessage(', '\nmade = RequestMessage(')
    const program = `import json
message = json.loads(${JSON.stringify(JSON.stringify(example))})
${script}
assert ok and errors == [], errors
assert SchemaValidator("1.0.0", authenticated=False).validate(made) == (True, []), made
parse_message(made)
print(json.dumps(made))`
    const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL('python', schemas)), PYTHONUTF8: '1' }
    const { stdout } = await promisify(execFile)(python, ['-B', '-c', program], { env, timeout: 60_000 })
    expect(JSON.parse(stdout)).toMatchObject({ message_type: 'request', payload: { method: 'get_price' } })
  })
}
