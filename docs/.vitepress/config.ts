import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import manifest from '../../package.json' with { type: 'json' }
import { keywords } from './keywords.ts'

const docs = fileURLToPath(new URL('..', import.meta.url))
const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '')

interface Item {
  readonly text: string
  readonly link: string
}

interface Group {
  readonly text: string
  readonly items: Item[]
}

const linkTo = (page: string) => `/${page.replace(/(?:README)?\.md$/, '')}`

/** The pages of a folder, titled by their first heading. */
function pagesIn(folder: string): Item[] {
  return readdirSync(`${docs}/${folder}`)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .map((file) => ({ text: titleOf(`${folder}/${file}`), link: linkTo(`${folder}/${file}`) }))
}

function titleOf(page: string): string {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(`${docs}/${page}`, 'utf8')) ?? []
  return title.replaceAll('`', '')
}

/** The groups of the front page, in reading order: its headings, and the first link of each row below. */
function groupsOfFrontPage(): Group[] {
  const [, ...sections] = readFileSync(`${docs}/README.md`, 'utf8').split(/^## /m)
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    items: [...section.matchAll(/^\| \[([^\]]+)\]\(([^)#]+\.md)\)/gm)].map(([, text = '', page = '']) => ({
      text,
      link: linkTo(page),
      ...(pagesBelow[page] && { items: pagesIn(pagesBelow[page]), collapsed: true }),
    })),
  }))
}

const pagesBelow: Readonly<Record<string, string>> = {
  'guides/frameworks/README.md': 'guides/frameworks',
  'reference/api/README.md': 'reference/api',
  'decisions/README.md': 'decisions',
}

/** For agents that write code: the pages in reading order, as one text. Generated references have pages of their own. */
function fullText(): string {
  const tutorial = pagesIn('tutorial').map(({ link }) => `${link.slice(1)}.md`)
  const [, ...sections] = readFileSync(`${docs}/README.md`, 'utf8').split(/^## /m)
  const linked = [...sections.join('').matchAll(/^\| \[[^\]]+\]\(([^)#]+\.md)\)/gm)].map(([, page = '']) => page)
  const pages = ['README.md', ...tutorial, ...linked.filter((page) => !/^(?:reference\/api|decisions)\//.test(page))]
  return pages.map((page) => `<!-- docs/${page} -->\n\n${readFileSync(`${docs}/${page}`, 'utf8')}`).join('\n')
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
  transformPageData(page) {
    const words = keywords[page.filePath]
    if (words !== undefined) page.frontmatter.head = [['meta', { name: 'keywords', content: words }]]
    if (page.filePath === 'README.md') Object.assign(page.frontmatter, { aside: false, prev: false })
  },
  buildEnd({ outDir }) {
    copyFileSync(`${docs}/../llms.txt`, `${outDir}/llms.txt`)
    writeFileSync(`${outDir}/llms-full.txt`, fullText())
  },
  markdown: {
    // Pages are plain Markdown: a tag in a text is text, and comments are for the tests.
    html: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
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
    search: {
      provider: 'local',
      options: {
        translations: { button: { buttonText: 'Search', buttonAriaLabel: 'Search' } },
        // The index gets the keywords with the first section of a page.
        _render(source, env, md) {
          const words = keywords[posix.relative(docs, env.path ?? '')]
          return md.render(words === undefined ? source : source.replace(/^(# .+)$/m, `$1\n\n${words}\n`), env)
        },
      },
    },
    socialLinks: [{ icon: 'github', link: repository }],
    nav: [
      { text: 'Tutorial', link: '/tutorial/' },
      { text: 'Recipes', link: '/guides/recipes' },
      { text: 'Reference', link: '/reference/options' },
      { text: 'Comparison', link: '/explanation/comparison' },
      { text: 'FAQ', link: '/guides/faq' },
    ],
    sidebar: [
      { text: 'Tutorial', items: [{ text: 'Overview', link: '/tutorial/' }, ...pagesIn('tutorial')] },
      ...groupsOfFrontPage(),
    ],
  },
})
