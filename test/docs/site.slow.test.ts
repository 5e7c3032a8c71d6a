import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { launchChromium } from '../support/processes/chromium.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.gif': 'image/gif',
}

/** Builds the site. A link to a page or a heading that does not exist fails the build. */
async function buildSite(): Promise<string> {
  const folder = await temporaryDirectory()
  const program = join(root, 'node_modules/vitepress/bin/vitepress.js')
  await promisify(execFile)(process.execPath, [program, 'build', 'docs', '--outDir', folder], { cwd: root })
  return folder
}

const generated = ['docs/reference/api', 'docs/reference/cli.md']

/** The generated pages as they are. */
function readGenerated(): ReadonlyMap<string, string> {
  const files = generated.flatMap((path) =>
    path.endsWith('.md') ? [path] : readdirSync(join(root, path)).map((file) => `${path}/${file}`),
  )
  return new Map(files.sort().map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

it('the generated pages are those of the code', { timeout: 300_000 }, async () => {
  const committed = readGenerated()
  onTestFinished(() => {
    for (const [file, text] of committed) writeFileSync(join(root, file), text)
  })
  for (const script of ['write-api-docs', 'write-cli-docs']) {
    await promisify(execFile)(process.execPath, [join(root, `scripts/${script}.ts`)], { cwd: root })
  }
  const written = readGenerated()
  expect([...written.keys()]).toEqual([...committed.keys()])
  // Names only: the texts are long.
  expect([...written].filter(([file, text]) => committed.get(file) !== text).map(([file]) => file)).toEqual([])
})

async function startSite(): Promise<string> {
  const folder = await buildSite()
  return await startHttpServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = pathname.endsWith('/') ? `${pathname}index.html` : extname(pathname) ? pathname : `${pathname}.html`
    const content = await readFile(join(folder, name)).catch(() => undefined)
    response.writeHead(content ? 200 : 404, { 'content-type': types[extname(name)] ?? 'text/plain' }).end(content)
  })
}

it('the site has no dead links, finds pages by words of newcomers, and its front page is accessible', {
  timeout: 300_000,
}, async () => {
  const origin = await startSite()
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('response', (response) => {
    if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`)
  })

  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await page.goto(`${origin}/`)
    await page.getByText('I write agents').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    expect(await seriousViolations(page)).toEqual([])
  }
  await page.setViewportSize({ width: 1440, height: 900 })
  const sidebar = await page.locator('.VPSidebar h2').allTextContents()
  expect(sidebar).toEqual([
    ...['Tutorial', 'Write agents', 'Call agents', 'Serve and operate agents', 'More', 'Reference', 'Explanation'],
  ])

  for (const [words, found] of [
    ['docker', 'deployment'],
    ['cloudflare', 'serverless'],
    ['FAQ', 'faq'],
    ['-32001', ''],
    ['retry webhook', ''],
  ] as const) {
    await page.goto(`${origin}/tutorial/1-first-agent`)
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill(words)
    const links = page.locator('.VPLocalSearchBox a.result')
    await links.first().waitFor()
    const pages = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    expect(pages.filter((link) => link.includes(found))).not.toEqual([])
  }

  const text = await (await fetch(`${origin}/llms-full.txt`)).text()
  expect(text).toContain('# Recipes')
  expect(await (await fetch(`${origin}/llms.txt`)).text()).toContain('parley-a2a')
  expect(problems).toEqual([])
})

/** What axe finds. The name of the search button is that of the theme, which also shows the shortcut in it. */
async function seriousViolations(page: Page): Promise<readonly string[]> {
  await page.addScriptTag({ path: join(root, 'node_modules/axe-core/axe.min.js') })
  return await page.evaluate(async () => {
    const { axe } = window as unknown as { readonly axe: typeof import('axe-core') }
    const { violations } = await axe.run(document, {
      rules: { 'label-content-name-mismatch': { enabled: false } },
    })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`))
  })
}
