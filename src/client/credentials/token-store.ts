export interface Token {
  readonly accessToken: string
  readonly refreshToken?: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

export interface TokenStore {
  /** The token of that name if it still does; otherwise a new one, which all who wait for it share. */
  get(name: string, refused: string | undefined, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token>
}

/** So long before its end a token is not used any more, in milliseconds; of short ones, a fifth of their life. */
const margin = 30_000

export function createTokenStore(limit = 32): TokenStore {
  const tokens = new Map<string, Token & { readonly staleAt: number }>()
  const flights = new Map<string, Promise<Token>>()

  async function renew(name: string, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token> {
    try {
      const token = await obtain(tokens.get(name))
      const life = Math.max(0, token.expiresAt - Date.now())
      tokens.delete(name)
      tokens.set(name, { ...token, staleAt: token.expiresAt - Math.min(margin, life / 5) })
      const [oldest] = tokens.keys()
      if (tokens.size > limit && oldest !== undefined) tokens.delete(oldest)
      return token
    } finally {
      flights.delete(name)
    }
  }

  return {
    async get(name, refused, obtain) {
      const known = tokens.get(name)
      // One that was refused while somebody else has got a new one is not renewed twice.
      if (known && known.staleAt > Date.now() && known.accessToken !== refused) return known
      const flight = flights.get(name) ?? renew(name, obtain)
      flights.set(name, flight)
      return await flight
    },
  }
}
