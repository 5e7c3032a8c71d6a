import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startTestServer } from '../support/servers/test-server.ts'

const { bin, version } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  bin: Record<string, string>
  version: string
}

describe('the built command line', () => {
  it('both names run the same file, which prints its version without loading the commands', () => {
    expect(bin).toEqual({ parley: 'dist/cli/main.js', 'parley-a2a': 'dist/cli/main.js' })
    const text = readFileSync('dist/cli/main.js', 'utf8')
    expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(text).not.toMatch(/^import .*run\.js/m)
    const { stdout, status } = spawnSync(process.execPath, ['dist/cli/main.js', '--version'], { encoding: 'utf8' })
    expect([stdout, status]).toEqual([`${version}\n`, 0])
  })

  it('a message is sent from the built package', async () => {
    const { server } = await startTestServer((turn) => `You said: ${turn.text}`)
    const child = spawn(process.execPath, ['dist/cli/main.js', 'send', '-a', server.url, 'Hello', '-o', 'json'])
    child.stdin.end()
    const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
    expect(JSON.parse(text)).toMatchObject({ message: { parts: [{ text: 'You said: Hello' }] } })
  })
})
