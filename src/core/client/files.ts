import { toBase64 } from '../base/base64.ts'
import { BodyTooLarge } from '../http/exchange.ts'
import { readLimited } from '../http/read-limited.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { Part } from '../protocol/model.ts'

/** Maximum bytes of a file to send: it is held in memory, and then as text in the request. */
const maxFile = 64 * 2 ** 20

/** A file to send, as part of the input of `client.send`. */
export interface InputFile {
  readonly name: string
  /** A URL is sent as a URL, unless it is a `file:` URL; all other content is sent as bytes. */
  readonly content: string | Uint8Array | Blob | URL | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>
  readonly mediaType?: string
}

/** A file of this machine; not available in browsers. */
export interface PathFile {
  readonly path: string | URL
  /** Defaults to the last segment of the path. */
  readonly name?: string
  readonly mediaType?: string
}

/** Whether an address means a file: `file:…`, or a path that is not a URL. */
export function isFile(address: string | URL): boolean {
  if (isFileUrl(address)) return true
  if (URL.canParse(`${address}`) && !/^[a-z]:[\\/]/i.test(`${address}`)) return false
  return /^\.{0,2}[\\/]|\.json$|^[a-z]:[\\/]/i.test(`${address}`)
}

function isFileUrl(address: string | URL): boolean {
  return /^file:/i.test(`${address}`)
}

/**
 * Reads a file of this machine. The file system is requested from the platform (Node, Deno, Bun) instead of imported, so
 * that bundles for browsers contain nothing of it.
 */
export async function readFile(path: string | URL, limit: number): Promise<Uint8Array> {
  const fs = typeof process === 'object' ? process.getBuiltinModule?.('node:fs') : undefined
  if (!fs) throw unreadable(path, 'there are no files on this platform; pass its content instead')
  try {
    return await readLimited(fs.createReadStream(isFileUrl(path) ? new URL(path) : path), limit)
  } catch (error) {
    const isTooLarge = error instanceof BodyTooLarge
    throw unreadable(path, isTooLarge ? `it is longer than ${limit} bytes` : reasonOf(error), error)
  }
}

function unreadable(path: string | URL, why: string, cause?: unknown): A2AError {
  return new A2AError('invalid-params', `The file ${path} cannot be read: ${why}.`, { cause, reason: 'file' })
}

/** The message of Node without its code and path, which the error text already has. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : `${error}`
  return text.replace(/^[A-Z]+: /, '').replace(/, \w+ '.*$/s, '')
}

type FileInput = Part | Blob | Uint8Array | InputFile | PathFile

/** Reads a file or bytes into a part. */
export async function readInput(item: FileInput): Promise<Part> {
  try {
    return await toPart(item)
  } catch (error) {
    if (error instanceof A2AError) throw error
    const problem = `The input cannot be read: ${error instanceof Error ? error.message : error}.`
    throw new A2AError('invalid-params', problem, { cause: error })
  }
}

async function toPart(item: FileInput): Promise<Part> {
  if (typeof item !== 'object' || item === null) throw wrongInput(typeof item)
  if (item instanceof Uint8Array) return { raw: toBase64(item), mediaType: 'application/octet-stream' }
  if (item instanceof Blob) return await filePart({ name: nameOf(item), content: item })
  if ('content' in item) return await filePart(item)
  if ('path' in item) return await pathPart(item)
  throw wrongInput(`an object with ${Object.keys(item).join(', ')}`)
}

function wrongInput(type: string): A2AError {
  return invalidParams('input', `expected a text, a part, a file or bytes, got ${type}`)
}

/** The name of a `File`, which is a `Blob` with a name. */
function nameOf(blob: Blob): string {
  return 'name' in blob && typeof blob.name === 'string' ? blob.name : ''
}

async function filePart({ name, content, mediaType }: InputFile): Promise<Part> {
  if (content instanceof URL && isFileUrl(content)) return await pathPart({ path: content, name, mediaType })
  const type = mediaType ?? (content instanceof Blob ? content.type : undefined)
  const annotations = { filename: name || undefined, mediaType: type || undefined }
  if (content instanceof URL) return { url: content.href, ...annotations }
  return { raw: toBase64(await bytesOf(content)), ...annotations }
}

async function pathPart({ path, name = lastSegment(path), mediaType }: PathFile): Promise<Part> {
  const content = await readFile(path, maxFile)
  return await filePart({ name, content, mediaType })
}

function lastSegment(path: string | URL): string {
  const name = /[^\\/]*$/.exec(`${path}`)?.[0] ?? ''
  return isFileUrl(path) ? decodeURIComponent(name) : name
}

async function bytesOf(content: Exclude<InputFile['content'], URL>): Promise<Uint8Array> {
  if (typeof content === 'string') return new TextEncoder().encode(content)
  if (content instanceof Uint8Array) return content
  if (content instanceof Blob) return new Uint8Array(await content.arrayBuffer())
  return await readLimited(content, maxFile)
}
