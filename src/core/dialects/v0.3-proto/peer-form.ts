import { isObject, type JsonObject } from '../../base/json.ts'
import type { FileBytes, PeerForm } from '../dialect.ts'
import { bytesOf, isBase64Text, partHolders } from './translate-form.ts'

// The SDKs of 0.3 disagree about the proto, and no request or answer names its software for certain. See docs/reference/dialects.md.

/** The metadata key by which a message says how its files are written, and the header by which an answer does. */
export const fileBytesKey = 'a2a.fileBytes'
export const fileBytesHeader = 'x-a2a-file-bytes'

/** What a request or an answer shows about the form of its sender. */
export interface Evidence {
  /** How the files are written, by what they contain. Undefined if there are none. */
  readonly fileBytes?: FileBytes
  /** How the files are written, by what the sender says. */
  readonly declared?: FileBytes
  /** Whether there are members that came after 0.3.0. */
  readonly hasNewMembers: boolean
}

/**
 * Bytes that are no base64 text prove that the sender writes bytes as they are: then this holds for all files that it
 * sent. Base64 texts prove nothing, because they may be the content of a file. `isText` decides what a base64 text is.
 */
export function evidenceIn(wire: unknown, isText = isBase64Text): Evidence {
  let fileBytes: FileBytes | undefined
  let declared: FileBytes | undefined
  let hasNewMembers = false
  for (const { holder, parts } of partHolders(wire)) {
    declared ??= readFileBytes(isObject(holder.metadata) ? holder.metadata[fileBytesKey] : undefined)
    for (const part of parts) {
      if (!isObject(part)) continue
      const { file, metadata } = part
      hasNewMembers ||= isFilled(metadata) || (isObject(file) && typeof file.name === 'string' && file.name !== '')
      const bytes = isObject(file) ? bytesOf(file) : undefined
      if (bytes !== undefined && fileBytes !== 'raw') fileBytes = isText(bytes) ? 'base64' : 'raw'
    }
  }
  return { fileBytes, declared, hasNewMembers }
}

export function readFileBytes(value: unknown): FileBytes | undefined {
  return value === 'raw' || value === 'base64' ? value : undefined
}

/** What is known about the form of an SDK. */
export type SoftwareForm = Partial<PeerForm>

/**
 * The form of the SDK that probably sent a request, by its `User-Agent`: requests name the language, not the SDK. Only the
 * SDK for Go has the newer members in all its versions.
 */
export function formOfClient(userAgent: string): SoftwareForm {
  return clientForms.find(([pattern]) => pattern.test(userAgent))?.[1] ?? {}
}

/** The form of the SDK behind an answer, by the headers of its web server. */
export function formOfServer(software: string): SoftwareForm {
  return serverForms.find(([pattern]) => pattern.test(software))?.[1] ?? {}
}

/** The form of peers about which nothing is known: the SDKs for Python, Go and Java are the majority. */
export const majorityForm: PeerForm = { fileBytes: 'base64', hasNewMembers: false }

const clientForms: readonly (readonly [RegExp, SoftwareForm])[] = [
  // Readers of the binary format skip members that they do not know.
  [/^grpc-node/i, { fileBytes: 'raw', hasNewMembers: true }],
  [/^grpc-(python|java)/i, { fileBytes: 'base64', hasNewMembers: true }],
  [/^(node|undici|bun|deno|mozilla)/i, { fileBytes: 'raw' }],
  [/^(go-http-client|grpc-go)/i, { fileBytes: 'base64', hasNewMembers: true }],
  [/^(python-httpx|java-http-client)/i, { fileBytes: 'base64' }],
]

const serverForms: readonly (readonly [RegExp, SoftwareForm])[] = [
  [/express|grpc-node/i, { fileBytes: 'raw' }],
  [/uvicorn|hypercorn|granian|gunicorn|python/i, { fileBytes: 'base64' }],
]

function isFilled(metadata: unknown): metadata is JsonObject {
  return isObject(metadata) && Object.keys(metadata).length > 0
}
