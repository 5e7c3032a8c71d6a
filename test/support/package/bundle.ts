import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type InputOptions, type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown'
import config from '../../../rolldown.config.ts'

const root = join(import.meta.dirname, '../../..')
const quiet = { cwd: root, logLevel: 'silent' } as const

/** An application that imports one entry of the package and nothing else. */
export interface Bundle {
  /** Bytes of the chunks that are loaded first, minified and compressed. */
  readonly first: number
  /** Bytes of the chunks that are loaded later, by name. */
  readonly later: Readonly<Record<string, number>>
  /** The source files in it, with their bytes before minification, the largest first. */
  readonly modules: readonly (readonly [path: string, length: number])[]
}

/** Builds the package and bundles everything of one entry, such as `client`, as its users do. */
export async function bundle(entry: string): Promise<Bundle> {
  const published = await publish(entry)
  const chunks = await build(
    {
      ...quiet,
      input: join(root, 'dist', `${entry}.js`),
      plugins: [filesIn(published)],
      // An application that uses React has it already.
      external: ['react'],
      // As in an application, whose first chunk may contain what the others need.
      preserveEntrySignatures: 'allow-extension',
    },
    { format: 'esm', minify: true, comments: { annotation: false } },
  )
  const first = withImports(
    chunks.filter(({ isEntry }) => isEntry),
    chunks,
  )
  const later = chunks.filter((chunk) => !first.includes(chunk))
  const modules = [...published.values()].flatMap((chunk) => Object.entries(chunk.modules))
  return {
    first: sizeOf(...first),
    later: Object.fromEntries(later.map((chunk) => [chunk.name, sizeOf(chunk)])),
    modules: modules
      .map(([id, { renderedLength }]) => [relative(root, id), renderedLength] as const)
      .filter(([, length]) => length > 0)
      .toSorted(([, one], [, other]) => other - one),
  }
}

/** The files of the package that the entry loads, by path, built as `npm run build` does. */
async function publish(entry: string): Promise<ReadonlyMap<string, OutputChunk>> {
  const part = config.find(({ input }) => typeof input === 'object' && entry in input)
  if (!part) throw new Error(`no part of rolldown.config.ts has the entry ${entry}`)
  const { output, ...input } = part
  const chunks = await build({ ...input, ...quiet }, { format: 'esm', ...output })
  const loaded = withImports(
    chunks.filter(({ name, isEntry }) => isEntry && name === entry),
    chunks,
    'dynamic',
  )
  return new Map(loaded.map((chunk) => [join(root, 'dist', chunk.fileName), chunk]))
}

async function build(input: InputOptions, output: OutputOptions): Promise<readonly OutputChunk[]> {
  await using bundling = await rolldown(input)
  const { output: files } = await bundling.generate(output)
  return files.filter((file) => file.type === 'chunk')
}

/** These chunks with everything that they import, directly or not; with `dynamic`, also what they import lazily. */
function withImports(
  some: readonly OutputChunk[],
  all: readonly OutputChunk[],
  kind?: 'dynamic',
): readonly OutputChunk[] {
  const names = new Set(
    some.flatMap(({ imports, dynamicImports }) => (kind ? [...imports, ...dynamicImports] : imports)),
  )
  const more = [...new Set([...some, ...all.filter(({ fileName }) => names.has(fileName))])]
  return more.length === some.length ? some : withImports(more, all, kind)
}

function filesIn(published: ReadonlyMap<string, OutputChunk>): Plugin {
  return {
    name: 'published',
    resolveId(id, importer) {
      const path = importer === undefined ? id : join(importer, '..', id)
      return published.has(path) ? path : null
    },
    load: (id) => published.get(id)?.code ?? null,
  }
}

function sizeOf(...chunks: readonly OutputChunk[]): number {
  return chunks.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)
}
