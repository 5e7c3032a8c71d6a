import { toBase64 } from '../base/base64.ts'
import { BodyTooLarge } from '../http/exchange.ts'
import { readLimited } from '../http/read-limited.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { Part } from '../protocol/model.ts'

/** Bytes of a file that is sent along: it is held in memory, and then in the text of the request. */
const maxFile = 64 * 2 ** 20

/** Whether a text means a file rather than an address: `file:…`, or a path of which nothing else can be made. */
export function isFile(address: string | URL): boolean {
  if (isFileUrl(address)) return true
  if (URL.canParse(`${address}`) && !/^[a-z]:[\\/]/i.test(`${address}`)) return false
  return /^\.{0,2}[\\/]|\.json$|^[a-z]:[\\/]/i.test(`${address}`)
}

/** A file or bytes as a part. */
export async function readInput(item: Unread): Promise<Part> {
  try {
    return await toPart(item)
  } catch (error) {
    if (error instanceof A2AError) throw error
    const problem = `The input cannot be read: ${error instanceof Error ? error.message : error}.`
    throw new A2AError('invalid-params', problem, { cause: error })
  }
}

/**
 * A file of this machine. It is read by what Node, Deno and Bun have built in, which is asked for and not imported: in a
 * browser nobody answers, and bundles for browsers have nothing of it.
 */
export async function readFile(path: string | URL, limit: number): Promise<Uint8Array> {
  const files = typeof process === 'object' ? process.getBuiltinModule?.('node:fs') : undefined
  if (!files) throw unreadable(path, 'there are no files on this platform; hand in its content instead')
  try {
    return await readLimited(files.createReadStream(isFileUrl(path) ? new URL(path) : path), limit)
  } catch (error) {
    const isLong = error instanceof BodyTooLarge
    throw unreadable(path, isLong ? `it is longer than ${limit} bytes` : reasonOf(error), error)
  }
}

export interface InputFile {
  readonly name: string
  /** A URL is passed on, unless it is of a file; everything else is sent along. */
  readonly content: string | Uint8Array | Blob | URL | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>
  readonly mediaType?: string
}

/** A file of this machine, where there are files. */
export interface PathFile {
  readonly path: string | URL
  /** The last of the path by default. */
  readonly name?: string
  readonly mediaType?: string
}

function isFileUrl(address: string | URL): boolean {
  return /^file:/i.test(`${address}`)
}

function unreadable(path: string | URL, why: string, cause?: unknown): A2AError {
  return new A2AError('invalid-params', `The file ${path} cannot be read: ${why}.`, { cause, reason: 'file' })
}

/** Without the path, which is in what Node says, too. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : `${error}`
  return text.replace(/^[A-Z]+: /, '').replace(/, \w+ '.*$/s, '')
}

type Unread = Part | Blob | Uint8Array | InputFile | PathFile

async function toPart(item: Unread): Promise<Part> {
  if (typeof item !== 'object' || item === null) throw wrongInput(typeof item)
  if (item instanceof Uint8Array) return { raw: toBase64(item), mediaType: 'application/octet-stream' }
  if (item instanceof Blob) return await filePart({ name: nameOf(item), content: item })
  if ('content' in item) return await filePart(item)
  if ('path' in item) return await pathPart(item)
  throw wrongInput(`an object with ${Object.keys(item).join(', ')}`)
}

function wrongInput(given: string): A2AError {
  return invalidParams('input', `expected a text, a part, a file or bytes, got ${given}`)
}

async function filePart({ name, content, mediaType }: InputFile): Promise<Part> {
  if (content instanceof URL && isFileUrl(content)) return await pathPart({ path: content, name, mediaType })
  const type = mediaType ?? (content instanceof Blob && content.type !== '' ? content.type : undefined)
  const about = { ...(name !== '' && { filename: name }), ...(type !== undefined && { mediaType: type }) }
  return content instanceof URL ? { url: content.href, ...about } : { raw: toBase64(await bytesOf(content)), ...about }
}

async function pathPart({ path, name = lastOf(path), mediaType }: PathFile): Promise<Part> {
  const content = await readFile(path, maxFile)
  return await filePart({ name, content, ...(mediaType !== undefined && { mediaType }) })
}

function lastOf(path: string | URL): string {
  const name = /[^\\/]*$/.exec(`${path}`)?.[0] ?? ''
  return isFileUrl(path) ? decodeURIComponent(name) : name
}

async function bytesOf(content: Exclude<InputFile['content'], URL>): Promise<Uint8Array> {
  if (typeof content === 'string') return new TextEncoder().encode(content)
  if (content instanceof Uint8Array) return content
  if (content instanceof Blob) return new Uint8Array(await content.arrayBuffer())
  return await readLimited(content, maxFile)
}

/** Of a `File`, which is a `Blob` with a name. */
function nameOf(blob: Blob): string {
  return 'name' in blob && typeof blob.name === 'string' ? blob.name : ''
}
