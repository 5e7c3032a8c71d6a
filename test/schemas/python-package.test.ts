import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findPython, runPython } from '../support/processes/python.ts'

const schemas = new URL('../../schemas/', import.meta.url)
const python = await findPython()
if (python === undefined) {
  console.log('Skipped: the Python models need Python 3.10+ with pydantic 2 and jsonschema.')
}

describe.skipIf(python === undefined)('the Python package', () => {
  it('runs the sample of its README, which creates a valid message', async () => {
    const page = await readFile(new URL('README.md', schemas), 'utf8')
    const sample = /^```python\n(.*?)^```$/ms.exec(page)?.[1] ?? ''
    const example = JSON.parse(await readFile(new URL('json/v1.1.0/request-message.json', schemas), 'utf8')).examples[0]
    const stdout = await runPython(
      python ?? '',
      `import json
message = json.loads(${JSON.stringify(JSON.stringify(example))})
${sample}
assert ok and errors == [], errors
assert SchemaValidator("1.0.0", authenticated=False).validate(request.to_message()) == (True, []), request
parse_message(request.to_message())
print(json.dumps(request.to_message()))`,
    )
    expect(JSON.parse(stdout)).toMatchObject({ message_type: 'request', payload: { method: 'get_price' } })
  })

  it('optional members may be None, parameters default to an empty object, and ids equal UUIDs', async () => {
    const stdout = await runPython(
      python ?? '',
      `import json, uuid
from datetime import datetime, timezone
from a2a_schemas import RequestMessage, RequestPayload, parse_message
from pydantic import ValidationError
id = uuid.uuid4()
request = RequestMessage(message_id=id, message_type="request", sender_id="abc", recipient_id="def",
    timestamp=datetime.now(timezone.utc), payload=RequestPayload(method="m"), correlation_id=None, auth=None)
assert request.message_id == id and id == request.message_id and request.message_id == str(id)
assert request.payload.parameters == {}
assert RequestPayload(method="m", parameters=None).parameters is None
message = request.to_message()
assert "auth" not in message and "parameters" not in message["payload"], message
assert parse_message(message).message_id == id
try:
    parse_message({**message, "auth": None})
    refused = False
except ValidationError:
    refused = True
print(json.dumps(refused))`,
    )
    expect(JSON.parse(stdout)).toBe(true)
  })

  it('errors say which schema they are from, and name an unknown member of an answer', async () => {
    const example = JSON.parse(await readFile(new URL('json/v1.1.0/response-message.json', schemas), 'utf8'))
      .examples[0]
    const stdout = await runPython(
      python ?? '',
      `import json
from a2a_schemas import SchemaValidator
message = json.loads(${JSON.stringify(JSON.stringify(example))})
validator = SchemaValidator()
print(json.dumps([
    validator.validate({**message, "x": 1})[1],
    validator.validate({**message, "payload": {**message["payload"], "x": 1}})[1],
    SchemaValidator("1.0.0").validate({**message, "message_type": "goodbye"})[1],
]))`,
    )
    expect(JSON.parse(stdout)).toEqual([
      ["Base schema error: Additional properties are not allowed ('x' was unexpected)"],
      ["response schema error: Additional properties are not allowed ('x' was unexpected) (at payload)"],
      ['Unknown message_type: goodbye'],
    ])
  })

  it('the Python package takes uuid4() and datetime objects, and every dump of a model is valid', async () => {
    const stdout = await runPython(
      python ?? '',
      `import json, uuid
from datetime import datetime, timezone
from a2a_schemas import DiscoverAgentsMessage, DiscoverAgentsPayload, DiscoverFilters, SchemaValidator
for now in (datetime.now(timezone.utc), datetime.now(timezone.utc).replace(tzinfo=None)):
    model = DiscoverAgentsMessage(
        message_id=uuid.uuid4(), message_type="discover_agents", sender_id="shop-agent", recipient_id="registry",
        timestamp=now, payload=DiscoverAgentsPayload(filters=DiscoverFilters(max_results=3)),
    )
    for dump in (model.model_dump(), model.model_dump(mode="json"), json.loads(model.model_dump_json()), model.to_message()):
        print(json.dumps([now.isoformat(timespec="milliseconds")[:23] + "Z" == dump["timestamp"], SchemaValidator().validate(dump)]))`,
    )
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(Array(8).fill([true, [true, []]]))
  })

  it('the Python package refuses a UUID of another version and a directory of schemas with a sentence', async () => {
    const stdout = await runPython(
      python ?? '',
      `import uuid
from pathlib import Path
from pydantic import TypeAdapter, ValidationError
from a2a_schemas import MessageId, SchemaValidator
for action in (lambda: TypeAdapter(MessageId).validate_python(uuid.uuid1()), lambda: SchemaValidator(Path("schemas"))):
    try:
        action()
    except (ValidationError, ValueError) as error:
        print("expected" in str(error))`,
    )
    expect(stdout).toBe('True\nTrue\n')
  })

  it('the Python package has valid examples and a description of every member', async () => {
    const stdout = await runPython(
      python ?? '',
      `import inspect
from a2a_schemas import v1_0, v1_1
count = 0
for version in (v1_0, v1_1):
    for name in version.__all__:
        model = getattr(version, name)
        if not inspect.isclass(model) or not hasattr(model, "model_fields"):
            continue
        for example in model.model_json_schema()["examples"]:
            model.model_validate(example)
            count += 1
        for member, field in model.model_fields.items():
            assert field.description and field.examples, (name, member)
print(count)`,
    )
    expect(Number(stdout)).toBeGreaterThan(40)
  })

  it('a Python program validates messages with each schema file alone, without a network', async () => {
    const stdout = await runPython(
      python ?? '',
      `import json, sys
from pathlib import Path
import jsonschema
for file in Path(sys.argv[1]).glob("v*/*-message.json"):
    schema = json.loads(file.read_text())
    message = schema["examples"][0]
    jsonschema.validate(message, schema)
    try:
        jsonschema.validate({**message, "timestamp": "yesterday"}, schema)
    except jsonschema.ValidationError as error:
        print(error.message)`,
      [fileURLToPath(new URL('../../schemas/json', import.meta.url))],
    )
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(18)
    for (const line of lines) expect(line).toContain("'yesterday' does not match")
  })
})
