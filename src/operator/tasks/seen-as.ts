import { isList, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { dialectPairs } from '../../core/dialects/dialect-pairs.ts'
import { taskForms } from '../../core/dialects/versions.ts'
import type { Task } from '../../core/protocol/model.ts'
import type { SeenAs, SeenAsDialect } from '../contract.ts'

/** Losses that are listed. A task with more of them looks alike in other places. */
const maxLosses = 200

export function isSeenAsDialect(name: string): name is SeenAsDialect {
  return taskForms.some(({ id }) => id === name)
}

/** The task in the JSON of a version, and what a client of that version cannot read from it. */
export function seeAs(task: Task, name: SeenAsDialect): SeenAs {
  const { server, client } = dialectPairs[`v${name}`]
  const request = { taskId: task.id }
  const json = server.encodeResult.getTask(task, request)
  const decoded = client.decodeResult.getTask(json, request)
  // What only one dialect carries is not part of the task.
  const { generation: _, carry: __, ...before } = plain(task)
  const { generation: ___, carry: ____, ...after } = plain(decoded)
  return { dialect: name, json: isObject(json) ? json : {}, lost: [...lossesOf(before, after, '')].slice(0, maxLosses) }
}

function plain(task: Task): JsonObject {
  return JSON.parse(JSON.stringify(task)) as JsonObject
}

function* lossesOf(before: Json, after: Json | undefined, path: string): Generator<SeenAs['lost'][number]> {
  if (isEmpty(before)) return
  if (after === undefined) {
    yield { path, reason: 'This version has no place for it.' }
  } else if (isList(before)) {
    if (!isList(after)) yield { path, reason: 'It arrives in another form.' }
    else for (const [index, item] of before.entries()) yield* lossesOf(item, after[index], `${path}[${index}]`)
  } else if (isObject(before)) {
    if (!isObject(after)) yield { path, reason: 'It arrives in another form.' }
    else yield* memberLosses(before, after, path)
  } else if (before !== after) {
    yield { path, reason: `It arrives as ${describe(after)}.` }
  }
}

function* memberLosses(before: JsonObject, after: JsonObject, path: string): Generator<SeenAs['lost'][number]> {
  for (const [name, value] of Object.entries(before)) {
    if (ownMembers.has(name) || value === undefined) continue
    yield* lossesOf(value, after[name], path === '' ? name : `${path}.${name}`)
  }
}

/** Members of the model that are not content. */
const ownMembers: ReadonlySet<string> = new Set(['carry', 'isAnswer', 'isStarted', 'revision', 'taskMetadata'])

/** Nothing is lost with it. */
function isEmpty(value: Json): boolean {
  return value === null || (isList(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0)
}

function describe(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
