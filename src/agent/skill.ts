import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../base/json.ts'
import type { AgentSkill } from '../protocol/card.ts'
import type { SkillType } from '../protocol/extensions/typed-skills.ts'
import type { AgentReturn, AgentYield } from './agent-function.ts'
import { jsonSchemaOf, requireSchema, type SchemaSide } from './standard-schema.ts'
import type { Turn } from './turn.ts'

const json = ['application/json']

export interface SkillOptions<Id extends string, I extends Schema, O extends Schema> extends Partial<AgentSkill> {
  readonly id: Id
  readonly name: string
  /** What it takes. Without one, the text of the message. What does not fit never reaches `run`. */
  readonly input?: I
  /** What it gives. Without one, content, as every agent gives it. */
  readonly output?: O
  /** The JSON Schemas for the card; asked of the library of the schema where that can tell. */
  readonly inputJsonSchema?: JsonObject
  readonly outputJsonSchema?: JsonObject
  /** Returns the result; a generator may tell things before. Undefined if the turn has ended the task otherwise. */
  readonly run: (input: Taken<I>, turn: Turn) => Giving<O>
}

export type SkillProfile = Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>

/** By any library of Standard Schema; its JSON Schema is told in the card, if it is known. */
export interface SkillSchema {
  readonly schema: StandardSchemaV1
  readonly jsonSchema: JsonObject | undefined
}

/** A skill that does its work itself, and knows what it takes and gives. */
export interface Skill<Id extends string = string, Types extends SkillType = SkillType> extends SkillProfile {
  readonly id: Id
  readonly schemas: {
    readonly input: SkillSchema | undefined
    readonly output: SkillSchema | undefined
  }
  readonly run: (input: unknown, turn: Turn) => unknown
  /** Never there: what callers learn from the type of the agent. */
  readonly types?: Types
}

/** A skill whose input and output are checked, and told in the card. `agent({ name, skills: [skill(…)] })` has it. */
export function skill<const Id extends string, I extends Schema = undefined, O extends Schema = undefined>(
  options: SkillOptions<Id, I, O>,
): Skill<Id, { input: Sent<I>; output: Got<O> }> {
  const { input, output, inputJsonSchema, outputJsonSchema, run, ...profile } = options
  if (typeof run !== 'function') throw new TypeError(`skill(${options.id}): expected run to be a function`)
  if (input) requireSchema(`skill(${options.id}).input`, input)
  if (output) requireSchema(`skill(${options.id}).output`, output)
  return {
    ...(input && { inputModes: json }),
    ...(output && { outputModes: json }),
    ...profile,
    schemas: { input: told(input, 'input', inputJsonSchema), output: told(output, 'output', outputJsonSchema) },
    // Only what the schema has made of the input gets here.
    run: (given, turn) => run(given as Taken<I>, turn),
  }
}

export function isSkill(profile: SkillProfile): profile is Skill {
  return 'run' in profile && 'schemas' in profile
}

/** The types of skills by their ids, for callers. */
export type SkillTypes<S extends readonly SkillProfile[]> = {
  readonly [Each in S[number] as Each['id']]: Each extends Skill<string, infer Types> ? Types : TextSkill
}

type Schema = StandardSchemaV1 | undefined

/** What `run` gets, and what a caller must send. */
type Taken<I extends Schema> = I extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<I> : string

/** What `run` returns, and what a caller gets of it. */
type Giving<O extends Schema> = O extends StandardSchemaV1 ? Returned<StandardSchemaV1.InferInput<O>> : AgentReturn

type Returned<T> = T | undefined | Promise<T | undefined> | AsyncGenerator<AgentYield, T | undefined>

interface TextSkill extends SkillType {
  readonly input: string
  readonly output: string
}

type Sent<I extends Schema> = I extends StandardSchemaV1 ? StandardSchemaV1.InferInput<I> : string

type Got<O extends Schema> = O extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<O> : string

function told(schema: Schema, side: SchemaSide, given: JsonObject | undefined): SkillSchema | undefined {
  return schema && { schema, jsonSchema: given ?? jsonSchemaOf(schema, side, 'draft-2020-12') }
}
