import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { launchChromium } from '../support/processes/chromium.ts'

const isBuilt = existsSync(new URL('../../dist/client.js', import.meta.url))

describe.skipIf(!isBuilt)('the example with a web page', () => {
  it('the page shows the stream of the agent', { timeout: 180_000 }, async () => {
    const script = fileURLToPath(new URL('../../examples/browser/server.ts', import.meta.url))
    const server = spawn(process.execPath, [script], { env: { ...process.env, PORT: '0' } })
    onTestFinished(async () => {
      server.kill('SIGKILL')
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
    })
    const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
    const browser = await launchChromium()
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(line.replace('listening on ', ''))
    await page.getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => page.locator('output').textContent(), { timeout: 30_000 }).toContain('Counted for you.')
    expect(await page.locator('output').textContent()).toContain('1 2 3 4 5 6 7 8 9 10')
  })
})
