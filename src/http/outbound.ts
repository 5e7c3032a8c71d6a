/**
 * How this program asks others: as the global `fetch`, which it is by default. Credentials, guards and agents without
 * a socket are put in here.
 */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>
