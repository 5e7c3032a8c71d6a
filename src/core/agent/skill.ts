import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defined, type JsonObject } from '../base/json.ts'
import { aFunction, anObject, anything, checkOptions, listOf, type OptionChecks, text } from '../base/options.ts'
import type { AgentSkill } from '../protocol/card.ts'
import type { SkillType } from '../protocol/extensions/typed-skills.ts'
import type { AgentReturn, AgentYield } from './agent-function.ts'
import { jsonSchemaOf, requireSchema, type SchemaSide } from './standard-schema.ts'
import type { Turn } from './turn.ts'

const json = ['application/json']

/** Input is read from a data part, or from text: as it is, or as JSON. */
const jsonOrText = ['application/json', 'text/plain']

/** The options of `skill()`. */
export interface SkillOptions<Id extends string, I extends Schema, O extends Schema> extends Partial<AgentSkill> {
  readonly id: Id
  readonly name: string
  /** The schema of the input. Invalid input never reaches `run`. Without a schema, the input is the text of the message. */
  readonly input?: I
  /** The schema of the output. Without one, `run` returns content like any agent. */
  readonly output?: O
  /** The JSON Schemas for the card. Default to the conversion by the schema library, if it has one. */
  readonly inputJsonSchema?: JsonObject
  readonly outputJsonSchema?: JsonObject
  /** Returns the result; a generator may yield content and events before. Undefined if the turn ended the task itself. */
  readonly run: (input: RunInput<I>, turn: Turn) => RunOutput<O>
}

const skillChecks: OptionChecks<SkillOptions<string, Schema, Schema>> = {
  id: text,
  name: text,
  description: anything,
  tags: listOf(text),
  examples: listOf(text),
  // The agent checks media types.
  inputModes: anything,
  outputModes: anything,
  security: listOf(anObject),
  // Schemas of some libraries are functions.
  input: anything,
  output: anything,
  inputJsonSchema: anObject,
  outputJsonSchema: anObject,
  run: aFunction,
}

/** A skill on the card, without an implementation of its own. */
export type SkillProfile = Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>

/** A Standard Schema, and its JSON Schema for the card if there is one. */
export interface SkillSchema {
  readonly schema: StandardSchemaV1
  readonly jsonSchema: JsonObject | undefined
}

/** A skill with an implementation and schemas of its own. */
export interface Skill<Id extends string = string, Types extends SkillType = SkillType> extends SkillProfile {
  readonly id: Id
  readonly schemas: {
    readonly input: SkillSchema | undefined
    readonly output: SkillSchema | undefined
  }
  readonly run: (input: unknown, turn: Turn) => unknown
  /** Never set: it carries the types to typed clients. */
  readonly types?: Types
}

/**
 * Defines a skill whose input and output are validated and declared in the card.
 *
 * @example
 * const add = skill({
 *   id: 'add',
 *   name: 'Add',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => `${a + b}`,
 * })
 * const calculator = agent({ name: 'Calculator', skills: [add] })
 */
export function skill<const Id extends string, I extends Schema = undefined, O extends Schema = undefined>(
  options: SkillOptions<Id, I, O>,
): Skill<Id, { input: ClientInput<I>; output: ClientOutput<O> }> {
  checkOptions<object>(`skill(${options.id})`, options, skillChecks)
  const { input, output, inputJsonSchema, outputJsonSchema, run, ...profile } = options
  if (typeof run !== 'function') throw new TypeError(`skill(${options.id}): expected run to be a function`)
  if (input) requireSchema(`skill(${options.id}).input`, input)
  if (output) requireSchema(`skill(${options.id}).output`, output)
  return {
    ...defined({ inputModes: input ? jsonOrText : undefined, outputModes: output ? json : undefined }),
    ...profile,
    schemas: {
      input: skillSchema(input, 'input', inputJsonSchema),
      output: skillSchema(output, 'output', outputJsonSchema),
    },
    // The runner passes only validated input.
    run: (value, turn) => run(value as RunInput<I>, turn),
  }
}

export function isSkill(profile: SkillProfile): profile is Skill {
  return 'run' in profile && 'schemas' in profile
}

/** The types of skills by their ids, for typed clients. */
export type SkillTypes<S extends readonly SkillProfile[]> = {
  readonly [Profile in S[number] as Profile['id']]: Profile extends Skill<string, infer Types> ? Types : TextSkill
}

type Schema = StandardSchemaV1 | undefined

/** The input of `run`. */
type RunInput<I extends Schema> = I extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<I> : string

/** The return value of `run`. */
type RunOutput<O extends Schema> = O extends StandardSchemaV1 ? Returned<StandardSchemaV1.InferInput<O>> : AgentReturn

type Returned<T> = T | undefined | Promise<T | undefined> | AsyncGenerator<AgentYield, T | undefined>

interface TextSkill extends SkillType {
  readonly input: string
  readonly output: string
}

/** What a client sends. */
type ClientInput<I extends Schema> = I extends StandardSchemaV1 ? StandardSchemaV1.InferInput<I> : string

/** What a client gets. */
type ClientOutput<O extends Schema> = O extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<O> : string

function skillSchema(schema: Schema, side: SchemaSide, jsonSchema: JsonObject | undefined): SkillSchema | undefined {
  return schema && { schema, jsonSchema: jsonSchema ?? jsonSchemaOf(schema, side, 'draft-2020-12') }
}
