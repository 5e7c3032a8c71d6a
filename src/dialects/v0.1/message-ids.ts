import type { Message } from './schemas.ts'

/**
 * Messages of 0.1 have no ids, and must get the same ones whenever they are read: by their task, by what they say,
 * and, of several that say the same, by their order.
 */
export function messageIds(taskId: string): (message: Message) => string {
  const told = new Map<string, number>()
  return (message) => {
    // Read objects are built in one order, so equal messages have equal texts.
    const text = JSON.stringify(message)
    const before = told.get(text) ?? 0
    told.set(text, before + 1)
    return uuidOf(JSON.stringify([taskId, before, text]))
  }
}

const seeds = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f]

/** A UUID of version 8 (RFC 9562 §5.8): its bits are a hash of ours, good to tell messages apart, not to keep secrets. */
function uuidOf(text: string): string {
  const hex = seeds.map((seed) => hashOf(text, seed).toString(16).padStart(8, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), seed)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}
