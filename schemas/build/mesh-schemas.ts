import { jsonSchemaOf } from '../../src/core/schema/json-schema.ts'
import { type Fields, object } from '../../src/core/schema/values.ts'
import { baseMembers, type MessageType, membersByType, messageTypes } from '../../src/mesh/envelope.ts'
import { AuthenticationTag, type SchemaVersion } from '../../src/mesh/payloads.ts'
import { base, isSchema, type Schema } from './base.ts'
import { documented, documentedMembers } from './documentation.ts'
import { signature, specimens } from './specimens.ts'

export const versions: readonly SchemaVersion[] = ['1.0.0', '1.1.0']

/**
 * The files of one version by name, each with all definitions that it uses, so that a validator needs neither the other
 * files nor a network.
 */
export function standaloneSchemas(version: SchemaVersion): ReadonlyMap<string, Schema> {
  const files = meshSchemas(version)
  const all = new Map<string, Schema>()
  for (const { $schema, $id, $comment, deprecated, definitions = {}, ...body } of files.values()) {
    all.set(String(body.title), body)
    for (const [title, definition] of Object.entries(definitions as Schema)) all.set(title, definition as Schema)
  }
  return new Map(
    [...files].map(([name, { definitions: _, ...file }]) => {
      const definitions: Record<string, Schema> = {}
      const visit = (value: unknown, key?: string): unknown => {
        if (key === 'examples') return value
        if (Array.isArray(value)) return value.map((item) => visit(item))
        if (!isSchema(value)) return value
        const members = Object.entries(value).map(([member, keyword]) => [member, visit(keyword, member)] as const)
        if (typeof value.$ref !== 'string') return Object.fromEntries(members)
        const title = value.$ref === baseReference.$ref ? 'BaseMessage' : value.$ref.replace(/^.*\//, '')
        if (!(title in definitions)) {
          definitions[title] = {}
          definitions[title] = visit(all.get(title)) as Schema
        }
        return { ...Object.fromEntries(members), $ref: `#/definitions/${title}` }
      }
      return [name, { ...(visit(file) as Schema), definitions }]
    }),
  )
}

/** As files that refer to each other: the base, one for each message type of the version, and the signed envelope. */
export function meshSchemas(version: SchemaVersion): ReadonlyMap<string, Schema> {
  const homes = new Map<string, string>()
  const file = (name: string, title: string, description: string, schema: Schema, examples: readonly Schema[]) => {
    const definitions: Record<string, Schema> = {}
    const body = withDocumentation(hoist(schema, name, homes, definitions), examples[0] as Schema)
    return [
      name,
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        $id: `${base}/v${version}/${name}`,
        $comment: `Version ${version}, made by schemas/build. Changes: ${base}/CHANGELOG.md`,
        deprecated: false,
        title,
        description,
        examples,
        ...body,
        ...(Object.keys(definitions).length > 0 && { definitions }),
      },
    ] as const
  }
  const narrowed = membersByType({ version })
  const types = messageTypes.filter((type) => narrowed[type] !== undefined)
  return new Map([
    file('base-message.json', 'BaseMessage', 'The members of all envelopes.', jsonSchemaOf(object(baseMembers())), [
      { ...specimens.request, auth: signature },
    ]),
    ...types.map((type) =>
      file(fileOf(type), classOf(type), descriptions[type], narrowing(type, narrowed[type] ?? {}), [
        { ...specimens[type] },
      ]),
    ),
    file('authenticated-message.json', 'AuthenticatedMessage', 'A signed envelope.', signed, [
      { ...specimens.request, auth: signature },
    ]),
  ])
}

function fileOf(type: MessageType): string {
  return `${type.replaceAll('_', '-')}-message.json`
}

/** `discover_agents` → `DiscoverAgentsMessage`. */
function classOf(type: MessageType): string {
  return `${type
    .split('_')
    .map((part) => part[0]?.toUpperCase() + part.slice(1))
    .join('')}Message`
}

const descriptions: Readonly<Record<MessageType, string>> = {
  request: 'Calls a method of an agent.',
  response: 'Answers a request.',
  handshake: 'Introduces the sender.',
  handshake_ack: 'Answers a handshake.',
  error: 'Reports that a message was rejected or could not be handled.',
  discover_agents: 'Searches the registry for agents.',
  agent_announcement: 'Answers discovery.',
  goodbye: 'Ends a session.',
}

const baseReference = { $ref: 'base-message.json' }
const signed = {
  type: 'object',
  allOf: [baseReference, jsonSchemaOf(object({ auth: AuthenticationTag }, { open: true }))],
}

function narrowing(type: MessageType, members: Fields): Schema {
  const { additionalProperties: _, properties, ...rest } = jsonSchemaOf(object(members))
  return {
    type: 'object',
    allOf: [baseReference, { ...rest, properties: { message_type: { const: type }, ...(properties as Schema) } }],
  }
}

/** Documents the members of an envelope, which are its own or those that it narrows. */
function withDocumentation(schema: Schema, example: Schema): Schema {
  const { allOf, properties } = schema
  if (Array.isArray(allOf)) return { ...schema, allOf: [allOf[0], withDocumentation(allOf[1], example)] }
  return { ...schema, properties: documentedMembers('BaseMessage', properties as Schema, example) }
}

/** Turns every titled schema into a definition of the first file that uses it, and a reference in all other places. */
function hoist(schema: Schema, file: string, homes: Map<string, string>, definitions: Record<string, Schema>): Schema {
  const visitKeywords = (value: Schema): Schema =>
    Object.fromEntries(Object.entries(value).map(([key, keyword]) => [key, visit(keyword)]))
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isSchema(value)) return value
    const { title } = value
    if (typeof title !== 'string') return visitKeywords(value)
    const home = homes.get(title)
    if (home === undefined) {
      homes.set(title, file)
      definitions[title] = documented(title, visitKeywords(value))
    }
    return { $ref: `${home === undefined || home === file ? '' : home}#/definitions/${title}` }
  }
  return visit(schema) as Schema
}
