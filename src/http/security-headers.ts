/**
 * What every answer says to browsers, unless it says otherwise itself: nothing here is a page. It is what its type says
 * (`nosniff`), loads and submits nothing, is framed by nobody, tells nobody where its reader came from, and is no part
 * of other sites' pages. Those that `cors` allows can still read it. What is not said to be cacheable is kept nowhere:
 * caches know `Authorization`, but not the other ways in which callers say who they are.
 */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const satisfies Record<string, string>
