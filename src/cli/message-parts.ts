import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Json } from '../core/base/json.ts'
import type { Part } from '../entries/client.ts'
import type { Argument, Context, Option } from './command.ts'
import { usageError } from './errors.ts'

/** Bytes of a file that is sent inline. */
const maxFile = 64 * 2 ** 20

/** Options for the parts of a message. They may be repeated and mixed, and their order is kept. */
export const partOptions: Readonly<Record<string, Option>> = {
  text: { type: 'text', value: 'text', multiple: true, onlyFlag: true, summary: 'A text part.' },
  file: {
    type: 'text',
    value: 'path|url',
    multiple: true,
    onlyFlag: true,
    summary: 'A file part: a path is sent as bytes, a URL as a URL.',
    complete: 'file',
  },
  data: {
    type: 'text',
    value: 'file|-',
    multiple: true,
    onlyFlag: true,
    summary: 'A data part: JSON from a file, or - for stdin.',
    complete: 'file',
  },
  'media-type': {
    type: 'text',
    value: 'type',
    multiple: true,
    onlyFlag: true,
    summary: 'The media type of the part just before it. Inferred without it.',
  },
}

/** All of stdin as text. */
export async function readStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxFile) throw usageError('stdin has more than 64 MiB.')
  }
  return text
}

/** The parts of the message, in the order of the command line. Without any, stdin is the text. */
export async function readParts(context: Context): Promise<readonly Part[]> {
  const described = describeParts(context.ordered)
  if (described.length > 0) {
    if (described.filter(({ kind, value }) => kind === 'data' && value === '-').length > 1) {
      throw usageError('--data -: stdin can be read only once.')
    }
    return await Promise.all(described.map(readPart))
  }
  if (!process.stdin.isTTY) {
    const text = (await readStdin()).replace(/\n$/, '')
    if (text !== '') return [{ text }]
  }
  throw usageError('There is nothing to send.', 'Pass --text "…", --file <path>, --data <file>, or text on stdin.')
}

interface DescribedPart {
  readonly kind: 'text' | 'file' | 'data'
  readonly value: string
  readonly mediaType?: string
}

function describeParts(ordered: readonly Argument[]): readonly DescribedPart[] {
  const parts: DescribedPart[] = []
  let isAfterPart = false
  for (const { name, value = '' } of ordered) {
    if (name === 'text' || name === 'file' || name === 'data') parts.push({ kind: name, value })
    else if (name === undefined) parts.push({ kind: 'text', value })
    else if (name === 'media-type') {
      const last = parts.at(-1)
      if (!last || !isAfterPart) {
        throw usageError(
          `--media-type ${value} has no part before it.`,
          'Write it right after --text, --file or --data.',
        )
      }
      parts[parts.length - 1] = { ...last, mediaType: value }
    }
    isAfterPart = name === undefined || name === 'text' || name === 'file' || name === 'data'
  }
  return parts
}

async function readPart({ kind, value, mediaType }: DescribedPart): Promise<Part> {
  const type = mediaType === undefined ? {} : { mediaType }
  switch (kind) {
    case 'text':
      return { text: value, ...type }
    case 'data':
      return { data: await readData(value), mediaType: mediaType ?? 'application/json' }
    case 'file':
      return await readFilePart(value, mediaType)
  }
}

export async function readFilePart(value: string, mediaType?: string): Promise<Part> {
  if (/^https?:\/\//i.test(value)) {
    const { pathname } = new URL(value)
    return { url: value, mediaType: mediaType ?? typeOf(pathname), ...nameOf(pathname) }
  }
  const bytes = await readBytes(value, '--file')
  if (bytes.byteLength > maxFile) throw usageError(`--file: ${value} is larger than ${maxFile / 2 ** 20} MiB.`)
  return { raw: bytes.toString('base64'), mediaType: mediaType ?? typeOf(value), filename: basename(value) }
}

async function readData(value: string): Promise<Json> {
  const isInline = /^\s*[[{]/.test(value)
  const text = isInline ? value : value === '-' ? await readStdin() : (await readBytes(value, '--data')).toString()
  try {
    return JSON.parse(text)
  } catch (error) {
    const where = isInline ? 'the value' : value === '-' ? 'stdin' : value
    throw usageError(`--data: ${where} is not JSON: ${error instanceof Error ? error.message : error}`)
  }
}

async function readBytes(path: string, option: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : `${code}`
    throw usageError(`${option}: ${path} cannot be read: ${why}.`)
  }
}

function nameOf(pathname: string): { readonly filename?: string } {
  const name = decodeURIComponent(pathname.split('/').at(-1) ?? '')
  return name === '' ? {} : { filename: name }
}

/** The media type by the extension. Unknown ones are bytes. */
function typeOf(path: string): string {
  return mediaTypes[path.toLowerCase().split('.').at(-1) ?? ''] ?? 'application/octet-stream'
}

/** The extension of a media type, for files that have no name. */
export function extensionOf(mediaType = ''): string {
  const base = mediaType.split(';')[0]?.trim().toLowerCase()
  return Object.entries(mediaTypes).find(([, type]) => type === base)?.[0] ?? 'bin'
}

const mediaTypes: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  html: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  xml: 'application/xml',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  pdf: 'application/pdf',
  zip: 'application/zip',
  gz: 'application/gzip',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  ts: 'text/x-typescript',
  js: 'text/javascript',
  py: 'text/x-python',
}
