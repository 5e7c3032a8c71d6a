import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type InputOptions, type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown'
import config from '../../../rolldown.config.ts'

const root = join(import.meta.dirname, '../../..')
const quiet = { cwd: root, logLevel: 'silent' } as const

/** What a user of the package gets who bundles one of its entries. */
export interface Bundle {
  /** Bytes, minified and compressed, of what is loaded at first. */
  readonly first: number
  /** Bytes of the chunks that come later, by name. */
  readonly later: Readonly<Record<string, number>>
  /** The names of the chunks that come with one that is loaded on demand, itself among them, by its name. */
  readonly onDemand: Readonly<Record<string, readonly string[]>>
  /** Bytes of each file that it is made of, not minified, the largest first. */
  readonly modules: readonly (readonly [path: string, length: number])[]
}

/** The package as it is published: the text of each file, by its path. */
export async function publish(): Promise<ReadonlyMap<string, string>> {
  const parts = config.map(({ output, ...input }) => build({ ...input, ...quiet }, { format: 'esm', ...output }))
  const chunks = (await Promise.all(parts)).flat()
  return new Map(chunks.map(({ fileName, code }) => [join(root, 'dist', fileName), code]))
}

/** Bundles all of an entry, such as `client/index`, as its users do. */
export async function bundle(published: ReadonlyMap<string, string>, entry: string): Promise<Bundle> {
  const input = join(root, 'dist', `${entry}.js`)
  // As for an application, whose first chunk may have what others need of it.
  const app: InputOptions = {
    ...quiet,
    input,
    plugins: [filesIn(published)],
    preserveEntrySignatures: 'allow-extension',
  }
  const chunks = await build(app, { format: 'esm', minify: true, comments: { annotation: false } })
  const atFirst = withImports(
    chunks.filter(({ isEntry }) => isEntry),
    chunks,
  )
  const isLater = (chunk: OutputChunk) => !atFirst.includes(chunk)
  const sources = await build({ ...quiet, input: join(root, 'src', `${entry}.ts`) }, { format: 'esm' })
  const modules = sources.flatMap((chunk) => Object.entries(chunk.modules))
  const withChunk = (chunk: OutputChunk) =>
    withImports([chunk], chunks)
      .filter(isLater)
      .map(({ name }) => name)
  return {
    first: sizeOf(...atFirst),
    later: Object.fromEntries(chunks.filter(isLater).map((chunk) => [chunk.name, sizeOf(chunk)])),
    onDemand: Object.fromEntries(
      chunks.filter(({ isDynamicEntry }) => isDynamicEntry).map((chunk) => [chunk.name, withChunk(chunk)]),
    ),
    modules: modules
      .map(([id, { renderedLength }]) => [relative(root, id), renderedLength] as const)
      .toSorted(([, one], [, other]) => other - one),
  }
}

async function build(input: InputOptions, output: OutputOptions): Promise<readonly OutputChunk[]> {
  await using bundling = await rolldown(input)
  const made = await bundling.generate(output)
  return made.output.filter((each) => each.type === 'chunk')
}

/** Also those that what it imports imports. */
function withImports(some: readonly OutputChunk[], all: readonly OutputChunk[]): readonly OutputChunk[] {
  const imported = all.filter(({ fileName }) => some.some(({ imports }) => imports.includes(fileName)))
  const more = [...new Set([...some, ...imported])]
  return more.length === some.length ? some : withImports(more, all)
}

function filesIn(published: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'published',
    resolveId(id, importer) {
      const path = importer === undefined ? id : join(importer, '../..', id)
      return published.has(path) ? path : null
    },
    load: (id) => published.get(id) ?? null,
  }
}

function sizeOf(...chunks: readonly OutputChunk[]): number {
  return chunks.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0)
}
