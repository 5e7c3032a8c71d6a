import { type Presented, type Refused, refused } from './scheme.ts'

/** Longer than any token or key in use; what is longer is not even looked at. */
const maxCredentials = 16 * 1024

/**
 * What stands behind this scheme in `Authorization`. Undefined if there is none, or one of another scheme. Two headers
 * come joined by a comma, which no credentials have in them.
 */
export function authorizationOf(presented: Presented, scheme: string): string | Refused | undefined {
  const header = presented.header('authorization')?.trim()
  if (header === undefined) return undefined
  const end = header.search(/\s/)
  if ((end < 0 ? header : header.slice(0, end)).toLowerCase() !== scheme) return undefined
  if (header.length > maxCredentials) return refused('the credentials are too long')
  const credentials = header.slice(scheme.length).trimStart()
  if (!token68.test(credentials)) return refused('Authorization is malformed, or was sent twice')
  return credentials
}

/** RFC 9110 §11.2. */
const token68 = /^[\w.~+/-]+=*$/

/** The one value of a header, a query parameter or a cookie. */
export function credentialIn(presented: Presented, location: string, name: string): string | Refused | undefined {
  const values = valuesIn(presented, location, name)
  const [value] = values
  if (value === undefined) return undefined
  if (values.length > 1) return refused(`${name} was sent more than once`)
  if (value.length > maxCredentials) return refused('the credentials are too long')
  return value
}

function valuesIn({ header, query }: Presented, location: string, name: string): readonly string[] {
  if (location === 'query') return query === '' ? [] : new URLSearchParams(query).getAll(name)
  if (location === 'header') {
    const value = header(name.toLowerCase())
    return value === undefined ? [] : [value]
  }
  const cookies = header('cookie')?.split(';') ?? []
  return cookies.flatMap((cookie) => {
    const at = cookie.indexOf('=')
    return at > 0 && cookie.slice(0, at).trim() === name ? [cookie.slice(at + 1).trim()] : []
  })
}
