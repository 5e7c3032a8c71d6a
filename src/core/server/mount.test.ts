import { describe, expect, it } from 'vitest'
import type { Incoming } from '../http/exchange.ts'
import { belowPath, withPath } from './mount.ts'

const release = () => {}

function incomingAt(base: string, path: string): Incoming {
  return {
    method: 'GET',
    path,
    query: '',
    base,
    secure: false,
    header: () => undefined,
    bytes: async () => new Uint8Array(),
    signal: new AbortController().signal,
    certificate: () => undefined,
    reserve: () => release,
  }
}

describe('an endpoint below /shop/echo', () => {
  it.each([
    ['a server that passes the whole path on', '', '/shop/echo/tasks', '/shop/echo', '/tasks'],
    ['a server that passes the mount itself on', '', '/shop/echo', '/shop/echo', '/'],
    ['a proxy that has removed the path', '', '/tasks', '/shop/echo', '/tasks'],
    ['a framework that has removed the path and names it', '/shop/echo', '/tasks', '/shop/echo', '/tasks'],
    [
      'a framework that names the path, with the same path again',
      '/shop/echo',
      '/shop/echo',
      '/shop/echo',
      '/shop/echo',
    ],
    ['a framework that names the end of the path, behind a proxy', '/echo', '/tasks', '/shop/echo', '/tasks'],
    ['an application below a path of its own', '/api', '/shop/echo/tasks', '/api/shop/echo', '/tasks'],
    ['a similar path', '', '/shop/echoes', '/shop/echo', '/shop/echoes'],
  ])('%s: the base is the path that callers use', async (_, base, path, expectedBase, expectedPath) => {
    const endpoint = belowPath('/shop/echo', async (incoming) => ({
      status: 200,
      headers: {},
      body: `${incoming.base} ${incoming.path}`,
    }))
    expect((await endpoint(incomingAt(base, path))).body).toBe(`${expectedBase} ${expectedPath}`)
  })
})

it('a large response of an agent below a path counts in the load of the server', () => {
  const moved = withPath(incomingAt('', '/echo'), '/', '/echo')
  expect(moved.reserve?.({ bytes: 1 }, 'caller')).toBe(release)
})
