import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import { toListener } from '../../src/core/node/listener.ts'
import { createPages } from '../../src/operator/pages.ts'
import { createConsoleFiles } from '../../src/serve/console-files.ts'
import { serve } from '../../src/serve/serve.ts'
import { echo } from '../support/agents/echo-agent.ts'
import { silentLogger } from '../support/logger.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: 'manual', headers })

describe('where the console is served', () => {
  it('a browser that opens a local server is sent to the console, and other clients get the usual answer', async () => {
    const { server } = await startTestServer(echo.run)
    const opened = await get(`${server.url}/`, browser)
    expect([opened.status, opened.headers.get('location')]).toEqual([303, '/console/'])
    expect((await get(`${server.url}/`, { accept: 'application/json' })).status).toBe(405)
    expect((await get(`${server.url}/`)).status).toBe(405)
    const bare = await get(`${server.url}/console`, browser)
    expect([bare.status, bare.headers.get('location')]).toEqual([303, '/console/'])
    const operator = operatorOf(server)
    expect(await operator.session()).toMatchObject({
      role: 'operator',
      server: { features: expect.arrayContaining(['history']) },
    })
    const { agents } = await operator.agents()
    expect(agents).toMatchObject([{ id: 'test', name: 'Test', url: server.url, a2a: '/console/a2a/test' }])
  })

  it('several agents at their paths share one console', async () => {
    const named = (name: string) => agent({ name }, async () => name)
    const server = await serve(
      { '/writer': named('The writer'), '/editor': named('The editor') },
      { signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    )
    onTestFinished(() => server.close())
    expect((await get(`${server.url}/`, browser)).status).toBe(303)
    const { agents } = await operatorOf(server).agents()
    expect(agents.map(({ id }) => id).sort()).toEqual(['editor', 'writer'])
  })

  it.each([
    ['console: false', { console: false }],
    ['a public URL', { publicUrl: 'https://agents.example.com' }],
    ['a proxy', { trustProxy: true }],
  ] as const)('it is off by default with %s', async (_, options) => {
    const { server } = await startTestServer(echo.run, options)
    expect(server.consoleUrl).toBeUndefined()
    for (const path of ['/', '/console/', '/console/api/v1/session']) {
      const { status } = await get(`${server.url}${path}`, browser)
      expect([path, status < 300 || status === 303]).toEqual([path, false])
    }
  })

  it('wrong options are errors that name the option', async () => {
    const started = async (console: unknown, options: object = {}) =>
      await startTestServer(echo.run, { ...options, console: console as false })
    await expect(started({}, { trustProxy: true })).rejects.toThrow('console.auth: other machines can call this server')
    await expect(started({ auth: 'nobody' })).rejects.toThrow('console.auth')
    await expect(started({ auth: 'none', rolls: () => 'viewer' })).rejects.toThrow('Did you mean')
    await expect(started(true)).rejects.toThrow('console')
    await expect(started({ auth: 'none' }, { publicUrl: 'https://a.example' })).rejects.toThrow('other machines')
  })

  it('an agent at /console takes precedence', async () => {
    const server = await serve(
      { '/console': agent({ name: 'Console' }, async () => 'hi') },
      { signals: false, directory: await temporaryDirectory(), logger: silentLogger, drainDeadline: 0 },
    )
    onTestFinished(() => server.close())
    expect((await get(`${server.url}/console/.well-known/agent-card.json`)).status).toBe(200)
  })

  it('pages of other hosts and origins are refused', async () => {
    const { server } = await startTestServer(echo.run)
    const url = `${server.url}/console/api/v1/session`
    const { request } = await import('node:http')
    const status = await new Promise((resolve, reject) => {
      request(url, { headers: { host: 'evil.example' } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(403)
    expect((await get(url, { origin: 'https://evil.example' })).status).toBe(403)
  })
})

describe('the files of the application', () => {
  const script = `console.log(${JSON.stringify('x'.repeat(2_000))})`

  async function startPages(build = true) {
    const folder = await temporaryDirectory()
    if (build) {
      await mkdir(join(folder, 'assets'))
      await writeFile(join(folder, 'index.html'), '<script type="module" src="/console/assets/app-1.js"></script>')
      await writeFile(join(folder, 'assets/app-1.js'), script)
    }
    const pages = createPages(createConsoleFiles([folder]))
    const exchange = (prefix: string) => toListener((incoming) => pages(incoming, prefix))
    return { folder, url: await startHttpServer(exchange('')), prefixed: await startHttpServer(exchange('/below')) }
  }

  it('pages have a strict policy, assets are immutable, and every other path is the application', async () => {
    const { url } = await startPages()
    for (const path of ['/console/', '/console/tasks/a/b', '/console/agents/x']) {
      const page = await get(`${url}${path}`)
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.headers.get('cache-control')).toBe('no-cache')
      const policy = page.headers.get('content-security-policy') ?? ''
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        expect(policy).toContain(rule)
      }
      expect(policy).not.toContain('unsafe')
      expect(page.headers.get('x-content-type-options')).toBe('nosniff')
      expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    }
    const asset = await get(`${url}/console/assets/app-1.js`, { 'accept-encoding': 'gzip' })
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(asset.headers.get('content-encoding')).toBe('gzip')
    expect(await asset.text()).toBe(script)
    const again = await get(`${url}/console/assets/app-1.js`, { 'if-none-match': asset.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
    expect((await get(`${url}/console/assets/app-0.js`)).status).toBe(404)
    expect((await fetch(`${url}/console/`, { method: 'POST' })).status).toBe(405)
  })

  it('a path never leaves the folder', async () => {
    const { url, folder } = await startPages()
    await writeFile(join(folder, '..', 'secret-of-console-test.txt'), 'secret').catch(() => {})
    for (const path of [
      '..%2fsecret-of-console-test.txt',
      '%2e%2e/secret-of-console-test.txt',
      'assets/..%2f..%2fpackage.json',
    ]) {
      expect(await (await get(`${url}/console/${path}`)).text()).not.toContain('secret')
    }
  })

  it('behind a path, the addresses of the page begin with that path', async () => {
    const { prefixed } = await startPages()
    expect(await (await get(`${prefixed}/console/`)).text()).toContain('src="/below/console/assets/app-1.js"')
  })

  it('a new build replaces the files, and a missing one is explained', async () => {
    const { url, folder } = await startPages(false)
    const missing = await get(`${url}/console/`)
    expect([missing.status, await missing.text()]).toEqual([503, expect.stringContaining('npm run build')])
    await writeFile(join(folder, 'index.html'), 'built')
    expect(await (await get(`${url}/console/`)).text()).toBe('built')
  })
})

it('a server whose console is not opened loads none of its code', async () => {
  const coverage = await temporaryDirectory()
  const source = `
    import { serve, agent } from '${new URL('../../src/entries/index.ts', import.meta.url)}'
    const server = await serve(agent({ name: 'Lazy' }, async () => 'hi'), { directory: '${coverage}/data', signals: false })
    const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } } }
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    await (await fetch(server.url, { method: 'POST', headers, body: JSON.stringify(call) })).text()
    if (process.env.OPENED) await (await fetch(server.url + '/console/api/v1/session')).text()
    await server.close()`
  const loaded = async (opened: boolean) => {
    const directory = join(coverage, opened ? 'opened' : 'closed')
    const env = {
      ...process.env,
      NODE_V8_COVERAGE: directory,
      PARLEY_LOG_LEVEL: 'error',
      ...(opened && { OPENED: '1' }),
    }
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], { env })
    const [report = ''] = await readdir(directory)
    const { result } = JSON.parse(await readFile(join(directory, report), 'utf8')) as { result: { url: string }[] }
    return result
      .map(({ url }) => url)
      .filter((url) => /\/src\/operator\/(?!(?:options|recorder|task-lines)\.ts$)|console-files/.test(url))
  }
  const isOptions = (url: string) => /\/operator\/(?:options|access)\.ts$/.test(url)
  expect((await loaded(false)).filter((url) => !isOptions(url))).toEqual([])
  expect((await loaded(true)).filter((url) => !isOptions(url)).length).toBeGreaterThan(3)
})
