import { createOperatorClient, type OperatorClient } from '../../../src/entries/operator.ts'

export interface ServerWithLink {
  readonly url: string
  readonly consoleUrl: string | undefined
}

/** The link of a server is valid once. */
const cookies = new Map<string, Promise<string>>()

/** Opens the link that a server prints at its start, as a browser does. Returns the cookie of the session. */
export async function logInByLink({ url, consoleUrl = '' }: ServerWithLink): Promise<string> {
  // Not through a proxy.
  const link = `${url}/console/${new URL(consoleUrl).search}`
  const cookie = cookies.get(link) ?? openLink(link)
  cookies.set(link, cookie)
  return await cookie
}

/** A client of the operator API that logs in by the link of the server. */
export function operatorOf(server: ServerWithLink): OperatorClient {
  return createOperatorClient({
    url: `${server.url}/console`,
    async fetch(url, init) {
      return await fetch(url, { ...init, headers: { ...init.headers, cookie: await logInByLink(server) } })
    },
  })
}

/** The session of the link as a cookie for a browser, for a page on any port of its host. */
export async function browserCookie(server: ServerWithLink, pageUrl = server.url) {
  const [name = '', value = ''] = (await logInByLink(server)).split('=')
  return { name, value, url: new URL(pageUrl).origin }
}

async function openLink(link: string): Promise<string> {
  const response = await fetch(link, { redirect: 'manual' })
  const [cookie] = (response.headers.get('set-cookie') ?? '').split(';')
  if (!cookie) throw new Error(`${link} does not log in.`)
  return cookie
}
