import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
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
}

/** Builds the site. A link to a page or a heading that does not exist fails the build. */
async function buildSite(): Promise<string> {
  const folder = await temporaryDirectory()
  const program = join(root, 'node_modules/vitepress/bin/vitepress.js')
  await promisify(execFile)(process.execPath, [program, 'build', 'docs', '--outDir', folder], { cwd: root })
  return folder
}

it('the site is built without dead links, and its search finds a page', { timeout: 300_000 }, async () => {
  const folder = await buildSite()
  const origin = await startHttpServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const name = pathname.endsWith('/') ? `${pathname}index.html` : extname(pathname) ? pathname : `${pathname}.html`
    const content = await readFile(join(folder, name)).catch(() => undefined)
    response.writeHead(content ? 200 : 404, { 'content-type': types[extname(name)] ?? 'text/plain' }).end(content)
  })
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))

  await page.goto(`${origin}/tutorial/1-first-agent`)
  expect(await page.locator('h1').textContent()).toContain('A first agent')
  await page.getByRole('button', { name: 'Search' }).first().click()
  await page.getByRole('searchbox').fill('retry webhook')
  await page.getByRole('option').first().waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).not.toContain('first-agent')
  expect(problems).toEqual([])
})
