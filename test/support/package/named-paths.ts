import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const sourceFolders = new Set(['src', 'src/core'].flatMap((folder) => readdirSync(join(root, folder))))
const topFolders = ['src', 'test', 'bench', 'docs', 'scripts', 'examples', 'schemas', 'demo', 'proto', 'toolchain']

const repository = 'https://github.com/parley-a2a/parley/blob/main/'

/** The file of this repository that a link to its pages names. */
export function repositoryPath(link: string): string | undefined {
  return link.startsWith(repository) ? join(root, link.slice(repository.length)) : undefined
}

/** The documents whose paths are checked, relative to the repository. */
export function documents(): readonly string[] {
  const guides = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  const files = guides.filter((file) => file.endsWith('.md')).map((file) => join('docs', file))
  const products = readdirSync(join(root, 'src')).map((folder) => `src/${folder}/README.md`)
  return ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'schemas/README.md', ...products, ...files]
}

/** The paths that a document names in links or inline code and that do not exist. */
export function missingPaths(document: string): readonly string[] {
  const text = readFileSync(join(root, document), 'utf8').replace(/^```.*?^```$/gms, '')
  const links = Array.from(text.matchAll(/\]\(([^)#\s]+)/g), ([, target = '']) => target)
  const spans = Array.from(text.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code)
  return [
    ...links.filter((target) => isMissing(target, document)),
    ...spans.filter((code) => isPath(code, document) && !exists(code.replace('<version>', 'v1.0'), dirname(document))),
  ]
}

function isMissing(target: string, document: string): boolean {
  const isElsewhere = /^[a-z]+:/.test(target)
  const path = isElsewhere ? repositoryPath(target) : join(root, dirname(document), target)
  return path !== undefined && !existsSync(path)
}

/** Guides also name files of users, so a name without a folder is a path only in the documents about the code. */
function isPath(code: string, document: string): boolean {
  if (!/^\w[\w.<>-]*(?:\/[\w.<>-]+)*\/?$/.test(code)) return false
  const hasExtension = /\.(?:ts|md|cjs|json|txt)$/.test(code)
  const [first = '', ...rest] = code.split('/')
  // The page of a product names its files without its folder.
  if (document.startsWith('src/')) return hasExtension || (rest.length > 0 && code.endsWith('/'))
  if (rest.length === 0) return hasExtension && /^(?:[A-Z]+\.md|docs\/decisions\/.*)$/.test(document)
  return topFolders.includes(first) || (sourceFolders.has(first) && (hasExtension || code.endsWith('/')))
}

/** Paths are relative to the document, to the repository, to `src/` or to `src/core/`. */
function exists(path: string, folder: string): boolean {
  if (!path.includes('/') && !folder.startsWith('src/')) return fileNames().has(path)
  return [folder, '', 'src', 'src/core'].some((each) => existsSync(join(root, each, path)))
}

let names: ReadonlySet<string> | undefined
function fileNames(): ReadonlySet<string> {
  names ??= new Set(
    ['.', ...topFolders].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: folder !== '.', encoding: 'utf8' }).map((file) => basename(file)),
    ),
  )
  return names
}
