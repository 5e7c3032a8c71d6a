import { int64, object, optional } from '../../schema/values.ts'

// What A2A 1.1 adds to the objects of 1.0. Parley calls the generation of a task its revision.

const generation = optional(int64({ min: 0 }))

export const GetTaskRequest = object({ currentGeneration: generation })

export const SendMessageRequest = object({ configuration: optional(object({ ifGenerationMatch: generation })) })

/** ProtoJSON writes an int64 as text. */
export function encodeGeneration(revision: number): string {
  return `${revision}`
}

/** The revision in an object of another agent. Undefined if it is 0 or no number: then the agent does not count. */
export function decodeGeneration(generation: unknown): number | undefined {
  const revision = Number(generation)
  return Number.isSafeInteger(revision) && revision > 0 ? revision : undefined
}
