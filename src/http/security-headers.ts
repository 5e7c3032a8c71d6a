import { isJson } from './media-type.ts'

/**
 * What every answer that a browser can open says to it, unless it says otherwise itself: nothing here is a page. It is
 * what its type says (`nosniff`), loads and submits nothing, is framed by nobody, tells nobody where its reader came
 * from, and is no part of other sites' pages. Those that `cors` allows can still read it. What is not said to be
 * cacheable is kept nowhere: caches know `Authorization`, but not the other ways in which callers say who they are.
 */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const satisfies Record<string, string>

type Headers = Readonly<Record<string, string>>

/**
 * The headers of an answer with those that browsers need. A POST of JSON is none that a link, a form, a frame or a tag
 * could make (Fetch §4.8): its answer is never opened, only read by scripts that are allowed to, and is spared the rest.
 */
export function secured(headers: Headers, method: string | undefined, contentType: string | undefined): Headers {
  if (method === 'POST' && isJson(contentType)) return { ...headers, 'x-content-type-options': 'nosniff' }
  return { ...securityHeaders, ...headers }
}
