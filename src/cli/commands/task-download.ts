import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Artifact, Part } from '../../entries/client.ts'
import { createFetch, openAgent } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { CliError, usageError } from '../errors.ts'
import { extensionOf } from '../message-parts.ts'
import { printTaskHead, stateName } from '../render.ts'
import { resolveTaskId } from '../task-ids.ts'
import { requireTaskId, taskIdOption, taskPositional } from './task.ts'

/** Bytes of a file that a URL leads to. */
const maxDownload = 512 * 2 ** 20

export const taskDownload: Command = {
  description:
    'Writes the artifacts of a task to files: text and data as text files, files with their names, and files by URL after fetching them. Existing files are kept unless --force is set.',
  positionals: [taskPositional],
  options: {
    ...agentOptions,
    ...taskIdOption,
    dir: {
      type: 'text',
      value: 'folder',
      summary: 'Where to write.',
      default: 'this folder',
      complete: 'folder',
      onlyFlag: true,
    },
    artifact: {
      type: 'text',
      value: 'id',
      multiple: true,
      summary: 'Only this artifact, by id or name.',
      onlyFlag: true,
    },
    force: { type: 'flag', summary: 'Replace existing files.', onlyFlag: true },
  },
  examples: [{ line: 'parley task download 7f1c -a localhost:4000 --dir results', summary: 'Save all artifacts' }],
  async run(context) {
    const { settings, output } = context
    const agent = await openAgent(context)
    const { client, call, reference } = agent
    const taskId = await resolveTaskId(requireTaskId(context), agent)
    const task = await client.task(taskId).get(call)
    const wanted = settings.list('artifact')
    const artifacts = task.artifacts.filter(
      ({ artifactId, name = '' }) => wanted.length === 0 || wanted.includes(artifactId) || wanted.includes(name),
    )
    if (artifacts.length === 0) throw usageError(`The task ${taskId} has no such artifact.`, 'See parley task get.')
    const folder = settings.text('dir') ?? '.'
    await mkdir(folder, { recursive: true })
    const fetch = createFetch(context, readAgentReference(reference))
    const used = new Set<string>()
    const files: { path: string; artifactId: string; bytes: number }[] = []
    for (const artifact of artifacts) {
      for (const [index, part] of mergeText(artifact.parts).entries()) {
        const bytes = await contentOf(part, fetch, context)
        const path = join(folder, uniqueName(fileName(artifact, part, index), used))
        await write(path, bytes, settings.flag('force'))
        files.push({ path, artifactId: artifact.artifactId, bytes: bytes.byteLength })
      }
    }
    if (output.mode === 'json')
      return output.document({ taskId, contextId: task.contextId, state: stateName(task), files })
    printTaskHead(task, output)
    for (const { path, bytes } of files) output.field('File', `${path} (${bytes} bytes)`)
  },
}

/** The chunks of a text belong into one file. */
function mergeText(parts: readonly Part[]): readonly Part[] {
  const merged: Part[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if ('text' in part && last && 'text' in last && !part.filename) {
      merged[merged.length - 1] = { ...last, text: last.text + part.text }
    } else {
      merged.push(part)
    }
  }
  return merged
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>

async function contentOf(part: Part, fetch: Fetch, { signal, output }: Context): Promise<Uint8Array> {
  if ('text' in part) return Buffer.from(part.text)
  if ('raw' in part) return Buffer.from(part.raw, 'base64')
  if ('data' in part) return Buffer.from(`${JSON.stringify(part.data, undefined, 2)}\n`)
  const done = output.progress(`Fetching ${part.url}…`)
  try {
    // Without credentials: the file may be anywhere.
    const response = await fetch(part.url, { signal })
    if (!response.ok) {
      throw new CliError('A2ACLI_ERR_UNREACHABLE', `${part.url} answered with HTTP status ${response.status}.`)
    }
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength
      if (size > maxDownload) throw new CliError('A2ACLI_ERR_INTERNAL', `${part.url} has more than 512 MiB.`)
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    done()
  }
}

function fileName({ artifactId, name }: Artifact, part: Part, index: number): string {
  const own = part.filename ?? ('url' in part ? new URL(part.url).pathname : undefined)
  const safe = own === undefined ? '' : safeName(own)
  if (safe !== '') return safe
  const base = safeName(name ?? artifactId) || 'artifact'
  const extension =
    'text' in part ? extensionOf(part.mediaType ?? 'text/plain') : 'data' in part ? 'json' : extensionOf(part.mediaType)
  return /\.\w{1,8}$/.test(base) ? base : `${base}${index === 0 ? '' : `-${index + 1}`}.${extension}`
}

/** Bytes of a file name. Most file systems allow 255, and a number may be added. */
const maxNameBytes = 200

/** An agent must not choose the folder, nor a hidden file, nor a name that looks like another one or that no system can store. */
function safeName(name: string): string {
  const plain = basename(name.replaceAll('\\', '/'))
    .replace(/[\p{C}\p{Zl}\p{Zp}<>:"|?*/]/gu, '_')
    .replace(/^[.\s-]+|[.\s]+$/g, '')
  if (Buffer.byteLength(plain) <= maxNameBytes) return plain
  const extension = /\.\w{1,8}$/.exec(plain)?.[0] ?? ''
  let base = ''
  for (const character of plain) {
    if (Buffer.byteLength(base + character + extension) > maxNameBytes) break
    base += character
  }
  return base + extension
}

function uniqueName(name: string, used: Set<string>): string {
  const [, base = name, extension = ''] = /^(.+?)(\.[^.]+)?$/.exec(name) ?? []
  let unique = name
  for (let number = 2; used.has(unique.toLowerCase()); number++) unique = `${base}-${number}${extension}`
  used.add(unique.toLowerCase())
  return unique
}

async function write(path: string, bytes: Uint8Array, isForced: boolean): Promise<void> {
  try {
    // Removed first, so that a symbolic link is replaced and the file that it leads to is not.
    if (isForced) await rm(path, { force: true })
    await writeFile(path, bytes, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw usageError(`${path} exists already.`, 'Replace it by --force, or choose another --dir.')
    throw new CliError('A2ACLI_ERR_INTERNAL', `${path} cannot be written: ${message}`)
  }
}
