import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A program on a page, as a reader copies it. */
export interface Snippet {
  /** The file in which a reader saves it: named by a comment in its first line, otherwise by its number. */
  readonly file: string
  readonly language: 'ts' | 'tsx' | 'sh'
  readonly code: string
  /** The line of the page at which it begins. */
  readonly line: number
}

/** A page with its snippets, in order. */
export interface Page {
  /** Relative to the repository. */
  readonly path: string
  readonly snippets: readonly Snippet[]
}

/** All pages with TypeScript programs or commands. The generated references show fragments, which other tests check. */
export function pages(): readonly Page[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !/^(?:decisions|reference\/api|\.vitepress)\//.test(file))
    .map((file) => join('docs', file))
  return ['README.md', ...docs.sort()].map(readPage).filter(({ snippets }) => snippets.length > 0)
}

function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  let number = 0
  const snippets = [...text.matchAll(/^```(ts|tsx|sh)\n(.*?)^```$/gms)].map(({ 1: language, 2: code = '', index }) => {
    number++
    const [, named] = /^\/\/ ([\w./-]+\.tsx?)\n/.exec(code) ?? []
    return {
      file: named ?? `snippet-${number}.${language}`,
      language: language as Snippet['language'],
      code,
      line: text.slice(0, index).split('\n').length,
    }
  })
  return { path, snippets }
}
