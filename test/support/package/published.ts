import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OutputChunk, rolldown } from 'rolldown'
import config from '../../../rolldown.config.ts'

/** Builds the package as `npm run build` does, but into another folder. */
export async function buildInto(folder: string): Promise<Built> {
  const built: OutputChunk[] = []
  for (const { output, ...input } of config.filter(({ plugins }) => !plugins)) {
    const bundle = await rolldown(input)
    try {
      const { output: files } = await bundle.write({ ...output, dir: folder })
      built.push(...files.filter((file) => file.type === 'chunk'))
    } finally {
      await bundle.close()
    }
  }
  return createBuilt(built)
}

export interface Built {
  /** The sources, relative to the repository, and the packages that an entry imports, lazily or not. */
  reachedFrom(entry: string): { readonly sources: readonly string[]; readonly packages: readonly string[] }
}

const root = fileURLToPath(new URL('../../..', import.meta.url))

function createBuilt(chunks: readonly OutputChunk[]): Built {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]))
  return {
    reachedFrom(entry) {
      const reached = new Set([entry])
      // Names that are added during the loop are visited as well.
      for (const name of reached) {
        const { imports = [], dynamicImports = [] } = byName.get(name) ?? {}
        for (const imported of [...imports, ...dynamicImports]) reached.add(imported)
      }
      const loaded = [...reached].map((name) => byName.get(name))
      return {
        sources: loaded.flatMap((chunk) => chunk?.moduleIds.map((id) => relative(root, id)) ?? []),
        packages: [...reached].filter((name) => !byName.has(name)),
      }
    },
  }
}
