import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import manifest from '../../package.json' with { type: 'json' }

const docs = fileURLToPath(new URL('..', import.meta.url))
const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '')

interface Item {
  readonly text: string
  readonly link: string
}

/** The pages of a folder, titled by their first heading. */
function pagesIn(folder: string): Item[] {
  return readdirSync(`${docs}/${folder}`)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .map((file) => ({ text: titleOf(`${folder}/${file}`), link: `/${folder}/${file.replace(/\.md$/, '')}` }))
}

function titleOf(page: string): string {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(`${docs}/${page}`, 'utf8')) ?? []
  return title.replaceAll('`', '')
}

/** Pages also link to files of the repository, which are not part of the site. */
function toRepository(link: string, page: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link
  const [path = '', fragment] = link.split('#')
  const target = posix.normalize(posix.join('docs', posix.dirname(page), path))
  if (target.startsWith('docs/')) return link
  return `${repository}/blob/main/${target}${fragment === undefined ? '' : `#${fragment}`}`
}

export default defineConfig({
  title: 'Parley',
  description: 'Agents that talk to each other over A2A, in TypeScript.',
  lang: 'en',
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  outDir: '../dist-docs',
  cacheDir: '../node_modules/.cache/vitepress',
  // Folders have a README for readers of the repository, and an index page on the site.
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  markdown: {
    // Pages are plain Markdown: a tag in a text is text, and comments are for the tests.
    html: false,
    config(md) {
      md.core.ruler.before('normalize', 'comments', (state) => {
        state.src = state.src.replace(/^<!--.*?-->$/gms, '')
      })
      md.core.ruler.push('repository-links', ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const link = token.type === 'link_open' ? token.attrGet('href') : null
          if (link !== null) token.attrSet('href', toRepository(decodeURI(link), env.relativePath))
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Tutorial', link: '/tutorial/' },
      { text: 'Guides', link: '/guides/turns' },
      { text: 'Reference', link: '/reference/options' },
      { text: 'Explanation', link: '/explanation/guarantees' },
    ],
    sidebar: [
      { text: 'Tutorial', items: [{ text: 'Overview', link: '/tutorial/' }, ...pagesIn('tutorial')] },
      { text: 'Guides', items: pagesIn('guides') },
      {
        text: 'Reference',
        items: [
          ...pagesIn('reference'),
          { text: 'API', link: '/reference/api/', items: pagesIn('reference/api'), collapsed: true },
        ],
      },
      {
        text: 'Explanation',
        items: [
          ...pagesIn('explanation'),
          { text: 'Decisions', link: '/decisions/', items: pagesIn('decisions'), collapsed: true },
        ],
      },
    ],
  },
})
