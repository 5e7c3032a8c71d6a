import { describe, expect, it } from 'vitest'
import { readGatewayConfig } from '../../src/gateway/config.ts'

const read = (yaml: string, env: Record<string, string> = {}) =>
  readGatewayConfig(yaml, {
    file: 'gateway.yaml',
    env,
    readFile(path) {
      if (path === 'token.txt') return 'file-secret\n'
      throw new Error('missing')
    },
  })

describe('the configuration of a gateway', () => {
  it('is read with its references, and printed without secrets', async () => {
    const yaml = `
port: 4000
auth:
  apiKeys: { ada: "\${env:ADA_KEY}" }
agents:
  old: https://old-agent.example
  new:
    url: https://new.example/a2a
    mode: pass-through
    auth: { bearer: "\${file:token.txt}" }
rules:
  - { name: all, principal: ada }
`
    const { options, printed } = await read(yaml, { ADA_KEY: 'env-secret' })
    expect(options).toMatchObject({
      port: 4000,
      agents: {
        old: 'https://old-agent.example',
        new: { mode: 'pass-through', auth: [{ fits: expect.any(Function) }] },
      },
      rules: [{ name: 'all', principal: 'ada' }],
    })
    const text = JSON.stringify(printed)
    expect(text).toContain('new.example')
    expect(text).not.toMatch(/env-secret|file-secret/)
  })

  it('names file, line and column of every problem, and the nearest valid name', async () => {
    const yaml = `
prt: 4000
agents:
  old:
    url: not-a-url
    mod: durable
    mode: durabel
`
    const error = await read(yaml).catch((each) => each)
    expect(error.problems).toEqual([
      'gateway.yaml:2:1: prt: there is no prt. Did you mean port?',
      'gateway.yaml:5:10: agents.old.url: expected an http or https URL',
      'gateway.yaml:6:5: agents.old.mod: there is no mod. Did you mean mode?',
      'gateway.yaml:7:11: agents.old.mode: expected one of durable, pass-through. Did you mean durable?',
    ])
  })

  it('reports syntax errors, missing variables and missing files at their places', async () => {
    await expect(read('agents: {')).rejects.toThrow(/^gateway\.yaml:1:/)
    const yaml = `agents:\n  a: "https://\${env:HOST}"\n  b: { url: https://b.example, auth: { bearer: "\${file:none}" } }\n`
    const error = await read(yaml).catch((each) => each)
    expect(error.problems[0]).toBe('gateway.yaml:2:6: the environment variable HOST is not set.')
    expect(error.problems[1]).toMatch(/^gateway\.yaml:3:.*the file none cannot be read\.$/)
    await expect(read('port: 1')).rejects.toThrow('agents: expected at least one agent, got none.')
  })

  it('takes catalogs and MCP servers, and says where agents cannot be served', async () => {
    const yaml = `
agents:
  tools:
    mcp: { url: https://mcp.example/mcp, headers: { authorization: "Bearer literal-secret" } }
  files:
    mcp: { command: node, args: [server.js], env: { KEY: literal-secret } }
from:
  - catalog: https://catalog.example
    filter: { tag: [public], host: "*.example" }
    options: { mode: pass-through, auth: { bearer: literal-secret } }
    refresh: 30000
`
    const { options, printed } = await read(yaml)
    expect(options.from).toMatchObject([
      { catalog: 'https://catalog.example', options: { mode: 'pass-through', auth: [{ fits: expect.any(Function) }] } },
    ])
    expect(JSON.stringify(printed)).not.toContain('literal-secret')
    const unsafe = 'from:\n  - catalog: https://catalog.example\n    options: { auth: { bearer: x } }\n'
    await expect(read(unsafe)).rejects.toThrow(/^gateway\.yaml:3:22: from\[0\]\.options\.auth: a catalog could/)
    const twice = 'agents:\n  a: { url: https://a.example, path: /x }\n  b: { url: https://b.example, path: /x }\n'
    await expect(read(twice)).rejects.toThrow(/^gateway\.yaml:3:6: agents\.b: another agent has the same path/)
  })
})
