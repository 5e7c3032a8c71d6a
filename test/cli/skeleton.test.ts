import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shareCli } from '../support/processes/cli.ts'
import { closedPort } from '../support/servers/http-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { requirements } from './requirements.ts'

const cli = shareCli()
const here = import.meta.dirname

describe('the specification', () => {
  it('every requirement is named by the title of a test', () => {
    const titles = readdirSync(here)
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => readFileSync(join(here, file), 'utf8').match(/^ {2}it\(\s*'.*$/gm) ?? [])
      .join('\n')
    expect(requirements.map(({ id }) => id).filter((id) => !titles.includes(id))).toEqual([])
    expect(requirements).toHaveLength(66)
  })

  it('SKILL_001, SKILL_002: there is one short SKILL.md, which refers to the help', () => {
    const root = join(here, '..', '..')
    const skills = readdirSync(join(root, 'skills'), { recursive: true }).filter((file) =>
      `${file}`.endsWith('SKILL.md'),
    )
    expect(skills).toEqual([join('parley', 'SKILL.md')])
    const text = readFileSync(join(root, 'skills', 'parley', 'SKILL.md'), 'utf8')
    expect(text).toMatch(/^---\nname: parley\ndescription: .+\n---\n/)
    expect(text).toContain('parley help')
    expect(text.split('\n').length).toBeLessThan(40)
  })
})

describe('help and version', () => {
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

  it('DEFAULT_001: the help shows the effective defaults, and options override them', async () => {
    const { stdout } = await cli.run(['card', 'get', '--help'])
    for (const text of ['order of the card', 'default: text', 'concise', 'highest common 1.x', 'default: verify']) {
      expect(stdout.replace(/\s+/g, ' ')).toContain(text)
    }
    const shown = await cli.run(['config', 'show', '-o', 'json', '--poll-interval', '5s', '--transport', 'GRPC'])
    expect(shown.json()).toMatchObject({
      'poll-interval': { value: '5s', source: 'option' },
      transport: { value: 'GRPC', source: 'option' },
      'a2a-version': { source: 'default' },
    })
  })
})

describe('wrong usage', () => {
  it('EXIT_001: usage errors end with 2 and unreachable agents with 3, with the matching error code', async () => {
    const port = await closedPort()
    const [unknown, option, value, command, unreachable] = await Promise.all([
      cli.run(['crad', 'get']),
      cli.run(['card', 'get', '--agent-crad', 'x', '-o', 'json']),
      cli.run(['card', 'get', '--agent-card']),
      cli.run(['card']),
      cli.run(['card', 'get', '-a', `http://127.0.0.1:${port}`, '-o', 'json']),
    ])
    expect(unknown).toMatchObject({ code: 2, stdout: '' })
    expect(unknown.stderr).toMatch(/no command "crad"\.\n.*Did you mean parley card/)
    expect(option.code).toBe(2)
    expect(option.json()).toMatchObject({ error: { code: 'A2ACLI_ERR_USAGE', hint: 'Did you mean --agent-card?' } })
    expect(value).toMatchObject({ code: 2, stderr: expect.stringContaining('--agent-card needs a value') })
    expect(command.code).toBe(2)
    expect(unreachable.code).toBe(3)
    expect(unreachable.json()).toMatchObject({ error: { code: 'A2ACLI_ERR_UNREACHABLE' } })
    for (const { stderr } of [unknown, option, value, command, unreachable]) expect(stderr).not.toMatch(/^\s+at /m)
  })

  it('a value that no setting accepts is a usage error that names where it comes from', async () => {
    const [output, timeout, version, reference] = await Promise.all([
      cli.run(['config', 'show'], { env: { A2ACLI_OUTPUT: 'yaml' } }),
      cli.run(['card', 'get', '-a', 'x', '--timeout', 'soon']),
      cli.run(['card', 'get', '-a', 'x', '--a2a-version', '2.0']),
      cli.run(['card', 'get', '-a', 'ftp://x']),
    ])
    expect(output).toMatchObject({ code: 2, stderr: expect.stringContaining('A2ACLI_OUTPUT') })
    expect(timeout).toMatchObject({ code: 2, stderr: expect.stringContaining('--timeout: expected a time') })
    expect(version).toMatchObject({ code: 2, stderr: expect.stringContaining('expected one of 1.0') })
    expect(reference).toMatchObject({ code: 2, stderr: expect.stringContaining('expected http, https or file') })
  })
})

describe('settings', () => {
  it('CONFIG_002: an option beats the environment, which beats .env, which beats the file of the user', async () => {
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
  })

  it('CONFIG_002: settings below a section apply to that agent only, and credentials stay with their agent', async () => {
    const folder = await temporaryDirectory()
    const [one, two] = ['https://one.example', 'https://two.example']
    await writeFile(
      join(folder, '.env'),
      `A2ACLI_AGENT_CARD=${one}\nA2ACLI_API_KEY=key-of-one\n[${two}/]\nA2ACLI_BEARER=token-of-two\nA2ACLI_TIMEOUT=7s\n`,
      { mode: 0o600 },
    )
    const run = (...args: readonly string[]) => cli.run(['config', 'show', '-o', 'json', ...args], { cwd: folder })
    const [own, other] = await Promise.all([run(), run('-a', two)])
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
