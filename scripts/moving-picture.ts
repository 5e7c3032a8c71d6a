import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import gifenc from 'gifenc'
import type { Page } from 'playwright-core'
import { agent } from '../src/core/node/local-agent.node.ts'
import { serve } from '../src/serve/serve.ts'
import { silentLogger } from '../test/support/logger.ts'
import { launchChromium } from '../test/support/processes/chromium.ts'
import { browserCookie } from '../test/support/servers/operator-login.ts'

/**
 * Records the picture of the front page, `docs/images/moving.gif`: an agent that the command line and the chat of the console
 * call at the same time, both real. Build the package before: `npm run build && node scripts/moving-picture.ts`.
 */
const height = 560
const widths = { terminal: 500, console: 860 }
const frameTime = 220
const target = fileURLToPath(new URL('../docs/images/moving.gif', import.meta.url))
const program = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

const report = `# Sales, first quarter

Revenue grew by **12 %**. South grew because of the new office, West lost one large customer.

- North: 1,204,000
- South: 987,500
- West: 640,200
`

const reporter = agent(
  {
    name: 'Reporter',
    description: 'Writes reports about sales',
    skills: [{ id: 'report', name: 'Report', description: 'Writes a report' }],
  },
  async (turn) => {
    await turn.status('working', 'Reading the sales figures')
    await sleep(900)
    const file = turn.artifact('report.md', { mediaType: 'text/markdown' })
    for (const words of report.match(/\S+\s*(?:\S+\s*)?/g) ?? []) {
      await file.write(words)
      await sleep(170)
    }
    return `The report about ${turn.text} is ready.`
  },
)

const directory = await mkdtemp(join(tmpdir(), 'parley-'))
const server = await serve(reporter, { port: 4000, directory, signals: false, logger: silentLogger, drainDeadline: 0 })
await using browser = await launchChromium()
const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce', locale: 'en-US' })
await context.addCookies([await browserCookie(server)])
const [shown, terminal, canvas] = await Promise.all([openConsole(), openTerminal(), context.newPage()])

const frames: { readonly pixels: Uint8Array; readonly delay: number }[] = []
const command = "npx parley-a2a send -a localhost:4000 --stream 'the first quarter'"
for (let typed = 0; typed <= command.length; typed += 6) await record(`$ ${command.slice(0, typed)}\u2588`, 90)

let output = ''
const child = spawn(process.execPath, [program, ...'send -a localhost:4000 --stream'.split(' '), 'the first quarter'], {
  env: { ...process.env, NO_COLOR: '1' },
})
child.stdout.on('data', (chunk) => {
  output += chunk
})
const ended = new Promise((resolve) => child.once('exit', resolve))
let isOver = false
void ended.then(() => {
  isOver = true
})
await shown.getByRole('textbox', { name: 'Message' }).first().fill('the first quarter')
await shown.getByRole('button', { name: 'Send', exact: true }).first().click()
while (!isOver) {
  const started = performance.now()
  await record(`$ ${command}\n${output}`, frameTime)
  await sleep(Math.max(0, frameTime - (performance.now() - started)))
}
await shown.getByText('Completed').first().waitFor()
await shown.waitForTimeout(400)
await record(`$ ${command}\n${output}`, 3_500)

await writeFile(target, toGif())
await context.close()
await server.close()
await rm(directory, { recursive: true })

async function openConsole(): Promise<Page> {
  const page = await context.newPage()
  await page.setViewportSize({ width: widths.console, height })
  await page.goto(`${server.url}/console/chat`)
  await page.locator('main h1').first().waitFor()
  return page
}

async function openTerminal(): Promise<Page> {
  const page = await context.newPage()
  await page.setViewportSize({ width: widths.terminal, height })
  await page.setContent(`<style>
    body { margin: 0; height: 100vh; background: #16181d; color: #e6e6e6; display: flex; flex-direction: column }
    header { padding: 12px 16px; color: #8b8f98; font: 13px sans-serif }
    pre { flex: 1; margin: 0; padding: 0 16px 16px; font: 14px/1.5 monospace; white-space: pre-wrap; overflow: hidden;
      display: flex; flex-direction: column; justify-content: flex-end; max-height: 480px }
    body:not(.full) pre { justify-content: flex-start }
  </style><header>Terminal</header><pre></pre>`)
  return page
}

/** Adds a frame: the terminal with this text, and the console as it is. */
async function record(text: string, delay: number): Promise<void> {
  await terminal.locator('pre').evaluate((element, shownText) => {
    element.textContent = shownText
  }, text)
  const images = await Promise.all([terminal, shown].map((page) => page.screenshot()))
  const base64 = await canvas.evaluate(joinImages, {
    images: images.map((image) => `data:image/png;base64,${image.toString('base64')}`),
    widths: [widths.terminal, widths.console],
    height,
  })
  frames.push({ pixels: new Uint8Array(Buffer.from(base64, 'base64')), delay })
}

/** Runs in the browser, which decodes and joins the images. */
async function joinImages(given: { images: readonly string[]; widths: readonly number[]; height: number }) {
  const [left = 0, right = 0] = given.widths
  const sheet = new OffscreenCanvas(left + right, given.height)
  const drawing = sheet.getContext('2d')
  for (const [index, source] of given.images.entries()) {
    const bitmap = await createImageBitmap(await (await fetch(source)).blob())
    drawing?.drawImage(bitmap, index === 0 ? 0 : left, 0)
  }
  const pixels = drawing?.getImageData(0, 0, left + right, given.height).data ?? new Uint8ClampedArray()
  let text = ''
  for (let at = 0; at < pixels.length; at += 32_768) text += String.fromCharCode(...pixels.subarray(at, at + 32_768))
  return btoa(text)
}

/** One palette for all frames. What has not changed since the last frame is transparent, so that it takes no space. */
function toGif(): Uint8Array {
  const { GIFEncoder, quantize, applyPalette } = gifenc
  const last = frames.at(-1)?.pixels ?? new Uint8Array()
  const palette = quantize(last, 127)
  const transparentIndex = palette.length
  const gif = GIFEncoder()
  let before: Uint8Array | undefined
  for (const { pixels, delay } of frames) {
    const indexes = applyPalette(pixels, palette)
    const changed = indexes.map((color, at) => (before?.[at] === color ? transparentIndex : color))
    gif.writeFrame(changed, widths.terminal + widths.console, height, {
      palette: [...palette, [0, 0, 0]],
      transparent: before !== undefined,
      transparentIndex,
      dispose: 1,
      delay,
    })
    before = indexes
  }
  gif.finish()
  return gif.bytes()
}
