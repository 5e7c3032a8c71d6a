import type { Option } from '../command.ts'

/** The registration of the user's client with an authorization server. */
export const clientOptions: Readonly<Record<string, Option>> = {
  'client-id': { type: 'text', value: 'id', summary: 'The id of the client at the authorization server.' },
  'client-secret': { type: 'text', value: 'secret', secret: true, summary: 'The secret of the client, if it has one.' },
}
