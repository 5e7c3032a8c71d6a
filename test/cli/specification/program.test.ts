import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../../../src/cli/commands.ts'
import { demoAgent } from '../../../src/cli/serve/demo-agent.ts'
import { shareCli } from '../../support/processes/cli.ts'
import { startRecordingPeer, task } from '../../support/servers/recording-peer.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { requirements } from '../requirements.ts'

const cli = shareCli()
const demo = shareTestServer(demoAgent.run, { profile: demoAgent.profile, push: {} })
const here = import.meta.dirname
const root = join(here, '..', '..', '..')

it('every requirement has exactly one test, which has its name', () => {
  const titles = readdirSync(here).flatMap((file) => [
    ...readFileSync(join(here, file), 'utf8').matchAll(/^ {2}it\(\s*'([A-Z0-9_]+): /gm),
  ])
  expect(titles.map(([, id]) => id).toSorted()).toEqual(requirements.map(({ id }) => id).toSorted())
  expect(requirements).toHaveLength(66)
})

describe('help', () => {
  it('CLI_001: help, <command> --help and --version describe the program', async () => {
    const [help, bare, short, version, group, command] = await Promise.all([
      cli.run(['help']),
      cli.run([]),
      cli.run(['-v']),
      cli.run(['card', 'get', '--version']),
      cli.run(['card', '--help']),
      cli.run(['help', 'card', 'get']),
    ])
    expect(help.stdout).toContain('card get')
    expect(bare.stdout).toBe(help.stdout)
    expect(short.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(version.stdout).toBe(short.stdout)
    expect(group.stdout).toContain('card get')
    expect(command.stdout).toContain('--agent-card <ref>')
    for (const { code, stderr } of [help, bare, short, version, group, command]) {
      expect([code, stderr]).toEqual([0, ''])
    }
  })

  it('SKILL_001: the command line has exactly one short SKILL.md, beside those of the library', () => {
    const skills = readdirSync(root, { recursive: true, withFileTypes: true }).filter(
      ({ name, parentPath }) => name === 'SKILL.md' && !parentPath.includes('node_modules'),
    )
    const ofLibrary = ['parley-call-agent', 'parley-operate', 'parley-write-agent']
    const folders = skills.map(({ parentPath }) => parentPath).toSorted()
    expect(folders).toEqual(['parley', ...ofLibrary].map((name) => join(root, 'skills', name)))
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect(files).toContain('skills')
    const text = readFileSync(join(root, 'skills', 'parley', 'SKILL.md'), 'utf8')
    expect(text).toMatch(/^---\nname: parley\ndescription: .+\n---\n/)
    expect(text.split('\n').length).toBeLessThan(40)
  })

  it('SKILL_002: SKILL.md refers to the help, names only what exists, and does not restate the specification', async () => {
    const text = readFileSync(join(root, 'skills', 'parley', 'SKILL.md'), 'utf8')
    expect(text).toContain('parley help')
    expect(text).not.toMatch(/A2ACLI_ERR_|TASK_STATE_[A-Z]+.*TASK_STATE_[A-Z]+.*TASK_STATE_|\b[A-Z]+_\d{3}\b/s)
    const paths = commands.map(({ path }) => path)
    const used = [...text.matchAll(/parley ([a-z][a-z -]*[a-z])/g)].map(([, words = '']) => words)
    for (const words of used)
      expect(paths.some((path) => `${words} `.startsWith(`${path} `) || path === words)).toBe(true)
    for (const [, option = ''] of text.matchAll(/parley send[^\n]*? --([a-z-]+)/g)) {
      expect((await cli.run(['send', '--help'])).stdout).toContain(`--${option}`)
    }
  })

  it('CLI_002: scripts for bash, zsh and fish are printed, and complete commands, options and values', async () => {
    const { url } = demo().server
    const { task } = (await cli.run(['send', '-a', url, 'count', '-o', 'json'])).json()
    const complete = async (...words: readonly string[]) => {
      const { stdout } = await cli.run(['__complete', '--', ...words], { env: { A2ACLI_TIMEOUT: '30s' } })
      return stdout.split('\n').map((line) => line.split('\t')[0])
    }
    const scripts = await Promise.all(['bash', 'zsh', 'fish'].map((shell) => cli.run(['completion', shell])))
    for (const { code, stdout } of scripts) {
      expect(code).toBe(0)
      expect(stdout).toContain('parley __complete')
    }
    const [words, below, options, choices, agents, tasks, contexts, files] = await Promise.all([
      complete('ta'),
      complete('task', ''),
      complete('send', '--tas'),
      complete('card', 'get', '-o', ''),
      complete('send', '-a', ''),
      complete('task', 'get', '-a', url, ''),
      complete('send', '-a', url, '--context-id', ''),
      complete('send', '--file', ''),
    ])
    expect(words).toContain('task')
    expect(below).toContain('cancel')
    expect(options).toContain('--task-id')
    expect(choices).toEqual(['text', 'json', ''])
    expect(agents).toContain(url)
    expect(tasks).toContain(task.id)
    expect(contexts).toContain(task.contextId)
    expect(files).toContain(':file')
    expect((await cli.run(['completion', 'tcsh'])).code).toBe(2)
  })
})

describe('settings', () => {
  it('DEFAULT_001: the six defaults are in the help, and each can be overridden', async () => {
    const { stdout } = await cli.run(['send', '--help'])
    const text = stdout.replace(/\s+/g, ' ')
    const defaults = ['the order of the card', 'wait', 'text', 'concise', 'the highest common 1.x', 'verify']
    for (const each of defaults) expect(text).toContain(`(default: ${each})`)
    const names = ['--transport', '--async', '--output', '--verbose', '--a2a-version', '--insecure']
    for (const name of names) expect(text).toContain(name)

    const peer = await startRecordingPeer({ result: () => ({ task: task('COMPLETED') }) })
    const run = (...args: readonly string[]) => cli.run(['send', '-a', peer.origin, 'x', ...args])
    const [plain, verbose, insecure, json, immediate] = await Promise.all([
      ...[run(), run('--verbose'), run('--insecure'), run('-o', 'json'), run('--async')],
    ])
    expect([plain?.stdout, plain?.stderr]).toEqual(['Task: t-1\nContext: c-1\nState: TASK_STATE_COMPLETED\n', ''])
    expect(verbose?.stderr).toMatch(/./)
    expect(insecure?.stderr).toMatch(/^warning: TLS certificates are not verified/)
    expect(json?.json()).toHaveProperty('task')
    expect(immediate?.code).toBe(0)
    expect(peer.calls().filter(({ body }) => body.params.configuration?.returnImmediately)).toHaveLength(1)
    const beaten = await cli.run(['send', '-a', peer.origin, 'x', '--wait'], { env: { A2ACLI_ASYNC: 'true' } })
    expect(beaten.code).toBe(0)
    expect(peer.calls().at(-1)?.body.params.configuration ?? {}).not.toHaveProperty('returnImmediately')
    const shown = await cli.run(['config', 'show', '-o', 'json', '--poll-interval', '5s', '--transport', 'GRPC'])
    expect(shown.json()).toMatchObject({
      'poll-interval': { value: '5s', source: 'option' },
      transport: { value: 'GRPC', source: 'option' },
      'a2a-version': { source: 'default' },
    })
  })

  it('CONFIG_001: what persists is in the conventional folders, private, and shown by config show', async () => {
    const { url } = demo().server
    await cli.run(['card', 'get', '-a', url])
    const cache = join(cli.home(), '.cache', 'a2a-cli', 'cards.json')
    expect(JSON.parse(await readFile(cache, 'utf8'))).toHaveProperty([`${url}/.well-known/agent-card.json`])
    expect((await stat(cache)).mode & 0o077).toBe(0)
    // No session state: a task that waits for an answer leaves no trace.
    const asked = await cli.run(['send', '-a', url, 'ask'])
    const kept = readdirSync(cli.home(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    for (const { parentPath, name } of kept) {
      expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(asked.field('Task'))
    }
    const before = readdirSync(cli.home(), { recursive: true })
    const shown = await cli.run(['config', 'show'])
    expect(shown.code).toBe(0)
    expect(shown.stdout).toContain(join(cli.home(), '.config', 'a2a-cli'))
    expect(readdirSync(cli.home(), { recursive: true })).toEqual(before)
  })

  it('CONFIG_002: settings have an order of precedence and a scope, and config show names the source of each', async () => {
    const folder = await temporaryDirectory()
    const config = join(folder, 'config')
    await mkdir(join(folder, 'project', 'inner'), { recursive: true })
    await mkdir(join(config, 'a2a-cli'), { recursive: true })
    await writeFile(join(folder, 'project', '.env'), 'A2ACLI_TIMEOUT=20s\nA2ACLI_VERBOSE=true\nOTHER=1\n')
    await writeFile(join(config, 'a2a-cli', '.env'), 'A2ACLI_TIMEOUT=10s\nA2ACLI_POLL_INTERVAL=9s\n')
    await writeFile(join(folder, 'other.env'), 'A2ACLI_TIMEOUT=40s\n')
    const run = (args: readonly string[], env: Record<string, string> = {}) =>
      cli.run(['config', 'show', '-o', 'json', ...args], {
        cwd: join(folder, 'project', 'inner'),
        env: { XDG_CONFIG_HOME: config, ...env },
      })
    const [file, environment, option, explicit] = await Promise.all([
      run([]),
      run([], { A2ACLI_TIMEOUT: '30s' }),
      run(['--timeout', '50s'], { A2ACLI_TIMEOUT: '30s' }),
      run(['--config', join(folder, 'other.env')]),
    ])
    const local = expect.stringMatching(/project\/\.env$/)
    expect(file.json()).toMatchObject({
      timeout: { value: '20s', source: local },
      verbose: { value: 'true', source: local },
      'poll-interval': { value: '9s', source: expect.stringMatching(/a2a-cli\/\.env$/) },
    })
    expect(environment.json().timeout).toEqual({ value: '30s', source: 'A2ACLI_TIMEOUT' })
    expect(option.json().timeout).toEqual({ value: '50s', source: 'option' })
    expect(explicit.json().timeout.value).toBe('40s')
    expect(explicit.json().verbose.source).toBe('default')

    const scoped = await temporaryDirectory()
    const [one, two] = ['https://one.example', 'https://two.example']
    await writeFile(
      join(scoped, '.env'),
      `A2ACLI_AGENT_CARD=${one}\nA2ACLI_API_KEY=key-of-one\n[${two}/]\nA2ACLI_BEARER=token-of-two\nA2ACLI_TIMEOUT=7s\n`,
      { mode: 0o600 },
    )
    const show = (...args: readonly string[]) => cli.run(['config', 'show', '-o', 'json', ...args], { cwd: scoped })
    const [own, other] = await Promise.all([show(), show('-a', two)])
    expect(own.json()).toMatchObject({ 'api-key': { value: '[redacted]' }, bearer: { value: null } })
    expect(other.json()).toMatchObject({
      'api-key': { value: null },
      bearer: { value: '[redacted]', source: expect.stringContaining(`[${two}/]`) },
      timeout: { value: '7s' },
    })
    expect(other.stderr).toContain('api-key')
    expect(own.stdout + own.stderr + other.stdout + other.stderr).not.toMatch(/key-of-one|token-of-two/)
  })
})

describe('agents', () => {
  it('CHAT_001: a chat carries the context and the task from line to line', async () => {
    const input = 'hello\ncount\nask\ngreen\n/task\n/nonsense\nfail\n/quit\n'
    const { code, stdout, stderr } = await cli.run(['chat', demo().server.url], { input })
    expect(code).toBe(0)
    expect(stdout).toMatch(/Hello! I am the demo agent.*one\ntwo\nthree\n.*Which colour.*You like green\./s)
    expect(stderr).toContain('TASK_STATE_COMPLETED')
    expect(stderr).toContain('/nonsense is not a command')
    expect(stderr).toContain('TASK_STATE_FAILED')
    const [, contextId = ''] = /^Context: (\S+)\n$/m.exec(stderr.slice(stderr.lastIndexOf('Context:'))) ?? []
    const { stdout: list } = await cli.run([
      'task',
      'list',
      '-a',
      demo().server.url,
      '--context-id',
      contextId,
      '-o',
      'json',
    ])
    expect(JSON.parse(list).totalSize).toBeGreaterThanOrEqual(3)
  })

  it('DEMO_SERVER_001: a demo agent is served, by a token if one is set', async () => {
    const process = cli.start(['demo-server', '--token', 'demo-token-1234'])
    const [, url = ''] = await process.until(/^URL: (http\S+)$/m)
    const [refused, sent] = await Promise.all([
      cli.run(['send', '-a', url, 'hello']),
      cli.run(['send', '-a', url, 'hello'], { env: { A2ACLI_BEARER: 'demo-token-1234' } }),
    ])
    expect(refused.code).toBe(4)
    expect(sent.field('Message')).toMatch(/^Hello/)
    process.child.kill('SIGINT')
    expect((await process.result).code).toBe(0)
  })

  it('CONFORM_001: an agent is judged by the rules of A2A, and the result is one JSON document', async () => {
    const { code, json } = await cli.run(['conformance', demo().server.url, '-o', 'json'])
    expect(code).toBe(0)
    expect(json()).toMatchObject({ agent: 'Demo', isConformant: true, counts: { MUST: { failed: 0 } } })
    expect(json().counts.MUST.passed).toBeGreaterThan(50)
  })
})
