import { readFile } from 'node:fs/promises'
import tsconfig from '../../../tsconfig.json' with { type: 'json' }

/** The snippets of a documentation page as programs that import the sources instead of the package. */
export async function snippetsOf(page: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => withSources(code))
}

/** The code of a file in `test/` as a page shows it: it imports the package instead of the sources. */
export async function readAsSnippet(file: URL): Promise<string> {
  const code = await readFile(file, 'utf8')
  return code.replace(/'(?:\.\.\/)+(src\/entries\/[^']+)'/g, (_, path: string) => {
    const [name] = Object.entries(tsconfig.compilerOptions.paths).find(([, [entry]]) => entry === `./${path}`) ?? []
    if (name === undefined) throw new Error(`${path} is not an entry of the package`)
    return `'${name}'`
  })
}

function withSources(code: string): string {
  return code.replace(/from '((?!node:|\.)[^']*)'/g, (_, name: string) => {
    if (!name.startsWith('parley-a2a')) return `from '${import.meta.resolve(name)}'`
    const [path] = (tsconfig.compilerOptions.paths as Record<string, readonly string[]>)[name] ?? []
    if (path === undefined) throw new Error(`there is no ${name}`)
    return `from '${new URL(`../../../${path}`, import.meta.url).href}'`
  })
}
