import { totalmem } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { createLoad, type Load, type LoadLimits } from '../http/load.ts'

/** Of each, one for so many bytes of the memory that the process may have. */
const perRequest = 256 * 1024

const bodyShare = 1 / 16

/** A body of the usual limit must find room also in a small process. */
const leastBodies = 16 * 2 ** 20

/** What V8 keeps for new objects beside the limit that it is given: three times 64 MiB at the most. */
const nursery = 192 * 2 ** 20

/** When a server has too much to do. What is over gets 503 with `Retry-After`. */
export interface OverloadOptions extends Partial<LoadLimits> {
  /** The share of the heap that may be in use. 0.85 by default; from there on V8 spends its time on finding room. */
  readonly heap?: number
  /** Connections open at once, idle ones among them; more are closed at once. Four for each request by default. */
  readonly connections?: number
}

export interface ServerLoad extends Load {
  readonly connections: number
}

export function createServerLoad(options: OverloadOptions): ServerLoad {
  const limit = heapLimit()
  const memory = Math.min(limit, memoryLimit())
  const {
    heap = 0.85,
    requests = Math.ceil(memory / perRequest),
    bodyBytes = Math.max(leastBodies, memory * bodyShare),
    connections = 4 * requests,
  } = options
  check({ heap, requests, bodyBytes, connections })
  const load = createLoad({ requests, bodyBytes, memory: () => heapInUse() / (limit * heap) })
  return { ...load, connections }
}

/** Bytes of objects that live for longer. Only that V8 knows, with what it keeps for new ones. */
function heapLimit(): number {
  const { heap_size_limit: whole } = getHeapStatistics()
  return Math.max(whole - nursery, whole / 4)
}

/** Of the container, if there is one. */
function memoryLimit(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

function check(options: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value > 0) continue
    throw new TypeError(`overload: expected ${name} to be a number above 0, got ${value}`)
  }
}

/** What is only left behind does not count for long: V8 collects it at the latest halfway to the limit. */
function heapInUse(): number {
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics()) {
    if (!name.startsWith('new_')) bytes += used
  }
  return bytes
}
