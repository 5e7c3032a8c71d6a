import type { AgentExtension, AgentSkill, CardSignature } from '../protocol/card.ts'
import type { JsonObject } from '../protocol/model.ts'
import { assumed } from './assumed.ts'
import type { Draft } from './draft.ts'
import { implicit, object, optional } from './object-shape.ts'
import { boolean, list, string, struct } from './shape.ts'

/** What cards in ProtoJSON have in common: the same in A2A 1.0 and in the proto of 0.3. */

const text = assumed(string(), '')
const words = assumed(list(string()), [])
const someWords = implicit(list(string()))

export const skillFields = {
  id: text,
  name: text,
  description: text,
  tags: words,
  examples: someWords,
  inputModes: someWords,
  outputModes: someWords,
}

const Extension = object({
  uri: string({ min: 1 }),
  description: implicit(string()),
  required: implicit(boolean()),
  params: optional(struct()),
})

export const extensions = implicit(list(Extension))

const Signature = object({ protected: string(), signature: string(), header: optional(struct()) })

export const cardFields = {
  name: string({ min: 1 }),
  description: text,
  version: text,
  defaultInputModes: words,
  defaultOutputModes: words,
  provider: optional(object({ organization: text, url: text })),
  signatures: implicit(list(Signature)),
}

/** All but what it requires. */
export function draftSkill({ id, name, description, tags, examples, inputModes, outputModes }: AgentSkill): Draft {
  const wire: Draft = { id, name, description, tags }
  if (examples?.length) wire.examples = examples
  if (inputModes?.length) wire.inputModes = inputModes
  if (outputModes?.length) wire.outputModes = outputModes
  return wire
}

export function encodeExtension({ uri, description, required, params }: AgentExtension): JsonObject {
  const wire: Draft = { uri }
  if (description) wire.description = description
  if (required) wire.required = true
  if (params) wire.params = params
  return wire
}

export function encodeSignature({ protected: protectedHeader, signature, header }: CardSignature): JsonObject {
  const wire: Draft = { protected: protectedHeader, signature }
  if (header) wire.header = header
  return wire
}
