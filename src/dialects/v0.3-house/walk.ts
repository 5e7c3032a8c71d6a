import { isObject } from '../is-object.ts'
import { placed } from '../violation.ts'

export type Change = (wire: unknown) => unknown

/** How the pieces of two dialects differ that have the same objects otherwise. */
export interface Differences {
  readonly part: Change
  readonly message: Change
  readonly state: Change
}

/**
 * From one of the two to the other, for whatever has such pieces in it: params, results and events of 0.3, and of the
 * model, have no two members of one name that are different things. What is not where it should be is left for others
 * to refuse.
 */
export function walk({ part, message, state }: Differences): Change {
  const parts = inList(part)
  const artifact = inObject({ parts })
  const ownMessage: Change = (wire) => message(artifact(wire))
  const messages = inList(ownMessage)
  const artifacts = inList(artifact)
  const status = inObject({ state, message: ownMessage })
  const task = inObject({ status, history: messages, artifacts })
  const tasks = inList(task)
  const anything = inObject({ message: ownMessage, status, history: messages, artifacts, artifact, task, tasks })
  return (wire) => (isObject(wire) && wire.parts !== undefined ? ownMessage(wire) : anything(wire))
}

function inObject(changes: Readonly<Record<string, Change>>): Change {
  const members = Object.entries(changes)
  return (wire) => {
    if (!isObject(wire)) return wire
    const changed: Record<string, unknown> = {}
    for (const [name, change] of members) if (wire[name] !== undefined) changed[name] = at(name, change, wire[name])
    return { ...wire, ...changed }
  }
}

function inList(change: Change): Change {
  return (wire) => (Array.isArray(wire) ? wire.map((each, index) => at(index, change, each)) : wire)
}

function at(segment: string | number, change: Change, wire: unknown): unknown {
  try {
    return change(wire)
  } catch (error) {
    throw placed(error, segment)
  }
}
