/** What worker.ts uses of the platform. `npx wrangler types` writes the types of everything. */
declare module 'cloudflare:workers' {
  export const env: Readonly<Record<string, unknown>>
}
