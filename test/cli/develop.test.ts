import { execFile } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { demoAgent } from '../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../support/processes/cli.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { shareTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, push: {} })
const server = pathToFileURL(fileURLToPath(new URL('../../src/entries/server.node.ts', import.meta.url))).href

const agentFile = (name: string, answer: string) =>
  `import { agent } from '${server}'\n${answer}\nexport default agent({ name: '${name}' }, (turn): string => answer + turn.text)\n`

/** Replaces a file in one step, as editors do, so that the server reloads once. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

describe('serve', () => {
  it('an agent in a TypeScript file is served, reloaded when a file of it changes, and survives a broken file', async () => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'answer.ts'), `export const answer: string = 'first '\n`)
    await writeFile(join(folder, 'agent.ts'), agentFile('Mine', `import { answer } from './answer.ts'`))
    const process = cli.start(['serve', 'agent.ts', '--set', 'turns.deadline=60000'], { cwd: folder })
    const [, url = ''] = await process.until(/^URL: (http\S+)$/m)
    await process.until(/curl /)
    expect(process.stdout()).toContain(`parley send -a ${url} "Hello"`)
    expect(process.stdout()).toContain(`curl ${url}/.well-known/agent-card.json`)
    const send = async () => (await cli.run(['send', '-a', url, 'x'])).field('Message')
    expect(await send()).toBe('first x')
    await process.until(/sendMessage/)
    await replaceFile(join(folder, 'answer.ts'), 'this is no TypeScript\n')
    await process.until(/starts again when a file changes/)
    expect(process.stderr()).toMatch(/error: agent\.ts cannot be loaded/)
    await replaceFile(join(folder, 'answer.ts'), `export const answer: string = 'second '\n`)
    await process.until(/Reloaded/)
    expect(await send()).toBe('second x')
    process.child.kill('SIGINT')
    expect((await process.result).code).toBe(0)
  })

  it('an error of the agent is shown once, with its message and the place in the file', async () => {
    const folder = await temporaryDirectory()
    const answer = `function find(): string { throw new Error('No such report', { cause: new TypeError('no file') }) }`
    await writeFile(
      join(folder, 'agent.ts'),
      `import { agent } from '${server}'\n${answer}\nexport default agent({ name: 'Mine' }, () => find())\n`,
    )
    const process = cli.start(['serve', 'agent.ts', '--no-reload'], { cwd: folder })
    const [, url = ''] = await process.until(/^URL: (http\S+)$/m)
    const { stdout } = await cli.run(['send', '-a', url, 'x'])
    await process.until(/sendMessage/)
    const stderr = process.stderr()
    expect(stdout).not.toContain('No such report')
    expect(stderr.match(/No such report/g)).toHaveLength(1)
    expect(stderr).toMatch(/^ {2}Error: No such report\n {4}at find \(agent\.ts:2:\d+\)/m)
    expect(stderr).toMatch(/^ {2}caused by TypeError: no file$/m)
    process.child.kill('SIGTERM')
    await process.result
  })

  it('several files are served by their names, with options from a file and from flags', async () => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'one.ts'), agentFile('One', `const answer = '1 '`))
    await writeFile(join(folder, 'two.ts'), agentFile('Two', `const answer = '2 '`))
    await writeFile(join(folder, 'options.json'), JSON.stringify({ directory: 'logs', turns: { deadline: 1000 } }))
    const process = cli.start(['serve', 'one.ts', 'two.ts', '--options', 'options.json', '--no-reload', '-o', 'json'], {
      cwd: folder,
    })
    await process.until(/\n/)
    const { agents } = JSON.parse(process.stdout())
    expect(agents).toMatchObject([{ name: 'One', url: expect.stringMatching(/\/one$/) }, { name: 'Two' }])
    expect((await cli.run(['send', '-a', agents[1].url, 'x'])).field('Message')).toBe('2 x')
    process.child.kill('SIGTERM')
    expect((await process.result).code).toBe(0)
  })

  it('a missing file, a file without an agent and an unknown option are one-line errors', async () => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'nothing.ts'), 'export default 7\n')
    await writeFile(join(folder, 'agent.ts'), agentFile('Mine', `const answer = ''`))
    const run = (...args: readonly string[]) => cli.run(['serve', ...args, '--no-reload'], { cwd: folder })
    const [missing, empty, option, open] = await Promise.all([
      run('no-such-file.ts'),
      run('nothing.ts'),
      run('agent.ts', '--set', 'turns.deadlin=5'),
      run('agent.ts', '--host', '0.0.0.0'),
    ])
    expect([missing.code, empty.code, option.code, open.code]).toEqual([2, 2, 2, 2])
    expect(empty.stderr).toContain('expected the default export to be an agent')
    expect(option.stderr).toMatch(/turns\.deadlin is not an option\. Did you mean .*deadline\?/)
    expect(open.stderr).toContain('can be reached from other machines')
  })
})

describe('listen', () => {
  it('a receiver without a task prints its address and a token, and refuses http addresses of other machines', async () => {
    const receiver = cli.start(['listen'])
    await receiver.until(/^Token: \S+$/m)
    receiver.child.kill('SIGINT')
    expect((await receiver.result).code).toBe(0)
    const { code, stderr } = await cli.run(['listen', '--url', 'http://example.com/hook'])
    expect(code).toBe(2)
    expect(stderr).toContain('https://')
  })
})

describe('the demonstration', () => {
  it('examples/cli/record.sh plays every command without an error', async () => {
    const script = fileURLToPath(new URL('../../examples/cli/record.sh', import.meta.url))
    const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
    const env = {
      ...process.env,
      HOME: cli.home(),
      FAST: '1',
      PARLEY: `${process.execPath} ${main}`,
      PORT: `${await closedPort()}`,
    }
    const { stdout, stderr } = await promisify(execFile)('bash', [script], { env })
    expect(stdout).toContain('You like green.')
    expect(stdout).toMatch(/^Errors: 0$/m)
    expect(stdout).toMatch(/^Conformant: yes$/m)
    expect(stderr).not.toMatch(/error:/)
  })
})

describe('types', () => {
  it('types of the skills are written, and --check fails when they are stale', async () => {
    const folder = await temporaryDirectory()
    const { url } = demo().server
    const run = (...args: readonly string[]) => cli.run(['types', url, ...args], { cwd: folder })
    const printed = await run()
    expect(printed.stdout).toContain('export type DemoSkills = {')
    const missing = await run('--out', 'skills.ts', '--check')
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no file skills.ts') })
    expect((await run('--out', 'skills.ts', '--name', 'Own')).code).toBe(0)
    const text = await readFile(join(folder, 'skills.ts'), 'utf8')
    expect(text).toContain('export type Own = {')
    expect((await run('--out', 'skills.ts', '--check', '--name', 'Own')).code).toBe(0)
    await writeFile(join(folder, 'skills.ts'), `${text}// changed\n`)
    const stale = await run('--out', 'skills.ts', '--check', '--name', 'Own')
    expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining('is not what the card says now') })
    expect((await run('--check')).code).toBe(2)
  })
})

describe('chat', () => {
  it('a chat resumes a task by its id, sends files by path, and continues after a failed call', async () => {
    const folder = await temporaryDirectory()
    await writeFile(join(folder, 'note.txt'), 'note')
    const { url } = demo().server
    const { task } = (await cli.run(['send', '-a', url, 'ask', '-o', 'json'])).json()
    const input = 'blue\n/file note.txt\nwith a file\n/file no-such\n/resume nothing\nhello\n'
    const { code, stdout, stderr } = await cli.run(['chat', url, '--task-id', task.id], { input, cwd: folder })
    expect(code).toBe(0)
    expect(stdout).toContain('You like blue.')
    expect(stdout).toContain('You said: with a file')
    expect(stderr).toContain('no-such cannot be read')
    expect(stderr).toContain('nothing')
    expect(stdout).toContain('Hello! I am the demo agent')
  })

  it('Ctrl-C cancels the running task and not the chat', async () => {
    const chat = cli.start(['chat', demo().server.url])
    chat.child.stdin.write('wait\n')
    await chat.until(/Working until you cancel/)
    chat.child.kill('SIGINT')
    await chat.until(/TASK_STATE_CANCELED/)
    chat.child.stdin.end('hello\n')
    const { code, stdout } = await chat.result
    expect(code).toBe(0)
    expect(stdout).toContain('Hello! I am the demo agent')
  })
})
