import { totalmem } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { createLoad, type Load, type LoadLimits } from '../http/load.ts'

/** When a server is overloaded. It answers further requests with 503 and `Retry-After`. */
export interface OverloadOptions extends Partial<LoadLimits> {
  /** The share of the heap that may be in use. Defaults to 0.85; beyond it V8 spends its time on garbage collection. */
  readonly heap?: number
  /**
   * The number of connections that may be open at once, including idle ones. The server closes further ones
   * immediately. Defaults to four per request.
   */
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
    requests = Math.ceil(memory / memoryPerRequest),
    bodyBytes = Math.max(minBodyBytes, memory * bodyShare),
    responseBytes = Math.max(minResponseBytes, memory * responseShare),
    connections = 4 * requests,
  } = options
  requirePositive({ heap, requests, bodyBytes, responseBytes, connections })
  const load = createLoad({ requests, bodyBytes, responseBytes, memory: () => heapInUse() / (limit * heap) })
  return { ...load, connections }
}

/** By default, one request may run for each of these bytes of available memory. */
const memoryPerRequest = 256 * 1024

const bodyShare = 1 / 16

/** A body of the default limit must fit in a small process as well. */
const minBodyBytes = 16 * 2 ** 20

const responseShare = 1 / 8

const minResponseBytes = 16 * 2 ** 20

/** The space of V8 for new objects, which it adds to the given limit: at most three times 64 MiB. */
const newSpace = 192 * 2 ** 20

/** The bytes available to long-lived objects. V8 reports its limit including the space for new objects. */
function heapLimit(): number {
  const { heap_size_limit: total } = getHeapStatistics()
  return Math.max(total - newSpace, total / 4)
}

/** The memory of the container, or of the machine. */
function memoryLimit(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

function requirePositive(options: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value > 0) continue
    throw new TypeError(`overload: expected ${name} to be a number above 0, got ${value}`)
  }
}

/** Includes garbage, but not for long: V8 collects it at the latest halfway to the limit. */
function heapInUse(): number {
  let bytes = 0
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics()) {
    if (!name.startsWith('new_')) bytes += used
  }
  return bytes
}
