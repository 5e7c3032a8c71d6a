import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ConsoleFile, ConsoleFiles } from '../operator/pages.ts'

/** Folders of the built console: beside the built package, and in a checkout whose sources run. */
const folders = ['../console/', '../../dist/console/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

/** Compressed files are longer below this length. In bytes. */
const minCompressed = 512

/** Reads the files of the built console, each when it is first requested. A later build replaces them. */
export function createConsoleFiles(candidates: readonly string[] = folders): ConsoleFiles {
  let build: { readonly version: string; readonly files: Map<string, () => Promise<ConsoleFile>> } | undefined

  async function open() {
    for (const folder of candidates) {
      const index = await stat(join(folder, 'index.html')).catch(() => undefined)
      if (!index) continue
      const version = `${folder} ${index.mtimeMs}`
      if (build?.version !== version) build = { version, files: await listFiles(folder) }
      return build.files
    }
    return undefined
  }

  return {
    async read(path) {
      // Only the page is checked for a newer build: it names all other files.
      const files = path === 'index.html' || !build ? await open() : build.files
      return await files?.get(path)?.()
    },
  }
}

/** The files below a folder, by their paths. A request never names a path on the disk. */
async function listFiles(folder: string): Promise<Map<string, () => Promise<ConsoleFile>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(
    paths.map((path) => {
      let loaded: Promise<ConsoleFile> | undefined
      const load = () => {
        loaded ??= loadFile(path).catch((error) => {
          loaded = undefined
          throw error
        })
        return loaded
      }
      return [path.slice(join(folder, sep).length).split(sep).join('/'), load]
    }),
  )
}

async function loadFile(path: string): Promise<ConsoleFile> {
  const bytes = await readFile(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  const isText = /^text\/|json|javascript|svg/.test(type)
  const compressed = isText && bytes.length >= minCompressed ? await promisify(gzip)(bytes) : undefined
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type, bytes, gzip: compressed, etag }
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
