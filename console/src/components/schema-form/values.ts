import type { Json, JsonObject } from 'parley-a2a/client'
import { type FieldSchema, isObject } from './schema.ts'

/** The problems of a value, by the path of the field: `.address.city`, `.tags[0]`. The value itself has an empty path. */
export type Problems = ReadonlyMap<string, string>

/** JSON as a person types it. Fields of unknown types are edited as text. */
export class JsonText {
  readonly text: string
  /** Undefined if the text is not JSON. */
  readonly value: Json | undefined

  constructor(text: string) {
    this.text = text
    try {
      this.value = JSON.parse(text) as Json
    } catch {
      this.value = undefined
    }
  }
}

/** A value while a person edits it. Fields without an input are undefined. */
export type Draft = Json | undefined | JsonText | DraftObject | readonly Draft[]
export interface DraftObject {
  readonly [name: string]: Draft
}

/** The value with which a form begins. */
export function initialDraft(schema: FieldSchema): Draft {
  if (schema.initial !== undefined) return schema.initial
  switch (schema.kind) {
    case 'object':
      return Object.fromEntries(
        schema.fields
          .filter(({ isRequired, schema: field }) => isRequired || field.initial !== undefined)
          .map(({ name, schema: field }) => [name, initialDraft(field)]),
      )
    case 'array':
      return Array.from({ length: Math.min(schema.min, 10) }, () => initialDraft(schema.item))
    case 'choice':
      return schema.choices.length === 1 ? schema.choices[0]?.value : undefined
    case 'boolean':
      return false
    case 'number':
    case 'text':
    case 'json':
      return undefined
  }
}

/** Checks a value as the server will, so that problems are shown beside their fields. */
export function findProblems(schema: FieldSchema, draft: Draft, isRequired = true, path = ''): Problems {
  const problems = new Map<string, string>()
  if (draft === undefined || draft === '') {
    if (isRequired && !(schema.kind === 'text' && schema.minLength === 0 && draft === '')) {
      problems.set(path, 'This field is required.')
    }
    return problems
  }
  const problem = problemOf(schema, draft)
  if (problem) problems.set(path, problem)
  if (schema.kind === 'object' && isDraftObject(draft)) {
    for (const field of schema.fields) {
      const inner = findProblems(field.schema, draft[field.name], field.isRequired, `${path}.${field.name}`)
      for (const [key, text] of inner) problems.set(key, text)
    }
  }
  if (schema.kind === 'array' && Array.isArray(draft)) {
    for (const [index, item] of draft.entries()) {
      for (const [key, text] of findProblems(schema.item, item, true, `${path}[${index}]`)) problems.set(key, text)
    }
  }
  return problems
}

function problemOf(schema: FieldSchema, draft: Draft): string | undefined {
  if (draft instanceof JsonText) return draft.value === undefined ? 'This is not valid JSON.' : undefined
  switch (schema.kind) {
    case 'number':
      if (typeof draft !== 'number' || !Number.isFinite(draft)) return 'Enter a number.'
      if (schema.isInteger && !Number.isInteger(draft)) return 'Enter a whole number.'
      if (schema.min !== undefined && draft < schema.min) return `Enter at least ${schema.min}.`
      return schema.max !== undefined && draft > schema.max ? `Enter at most ${schema.max}.` : undefined
    case 'text':
      return typeof draft === 'string' ? textProblem(schema, draft) : undefined
    case 'array':
      if (!Array.isArray(draft)) return undefined
      if (draft.length < schema.min) return `Add at least ${schema.min}.`
      return draft.length > schema.max ? `Keep at most ${schema.max}.` : undefined
    case 'object':
    case 'choice':
    case 'boolean':
    case 'json':
      return undefined
  }
}

function textProblem(schema: Extract<FieldSchema, { kind: 'text' }>, text: string): string | undefined {
  if (text.length < schema.minLength) return `Enter at least ${schema.minLength} characters.`
  if (text.length > schema.maxLength) return `Enter at most ${schema.maxLength} characters.`
  // The pattern of a hostile schema could take for ever on a long text.
  if (schema.pattern === undefined || text.length > 200) return undefined
  return matches(schema.pattern, text) ? undefined : `The text must match ${schema.pattern}`
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

/** The value of a draft without problems: fields without an input are left out. */
export function toValue(schema: FieldSchema, draft: Draft): Json | undefined {
  if (schema.kind === 'object' && isDraftObject(draft)) {
    const members = schema.fields.map(({ name, schema: field }) => [name, toValue(field, draft[name])] as const)
    return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as JsonObject
  }
  if (schema.kind === 'array' && Array.isArray(draft)) return draft.map((item) => toValue(schema.item, item) ?? null)
  if (schema.kind === 'text' && typeof draft === 'string') return textValue(schema, draft)
  return draft instanceof JsonText ? draft.value : (draft as Json | undefined)
}

/** Browsers enter local times, and JSON Schema wants an offset (RFC 3339). */
function textValue(schema: Extract<FieldSchema, { kind: 'text' }>, text: string): Json | undefined {
  if (text === '' && schema.minLength === 0 && schema.input !== 'text' && schema.input !== 'multiline') return undefined
  if (schema.input !== 'datetime-local') return text
  const time = Date.parse(text)
  return Number.isNaN(time) ? text : new Date(time).toISOString()
}

export function isDraftObject(draft: Draft): draft is DraftObject {
  return !(draft instanceof JsonText) && isObject(draft as Json | undefined)
}
