import type { Carry, JsonObject } from '../../protocol/model.ts'

/** What 0.1 keeps in the model for itself. */

export function toCarry(kept: JsonObject): Carry {
  return { 'v0.1': kept }
}

/** Undefined if the value never was on a wire of 0.1. */
export function carriedBy<T extends object>({ carry }: { readonly carry?: Carry }): T | undefined {
  return carry?.['v0.1'] as T | undefined
}

export interface TaskCarry {
  /** It was told without a session. */
  readonly sessionless?: true
  /** It was told to have none, instead of not told to have any. */
  readonly artifacts?: readonly []
  readonly history?: readonly []
}

/** As it stood on the artifact. */
export interface ArtifactCarry {
  readonly index?: number
  readonly append?: boolean
  readonly lastChunk?: boolean
}

/** All but the credentials, which are kept in one place only. */
export interface PushCarry {
  readonly authentication: JsonObject & { readonly schemes: readonly string[] }
}

export interface CardCarry {
  readonly stateTransitionHistory?: boolean
  readonly authentication?: JsonObject
  /** It was not told what the agent takes, or gives, by default. */
  readonly anyInput?: true
  readonly anyOutput?: true
}
