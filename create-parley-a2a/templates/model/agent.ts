import { fileURLToPath } from 'node:url'
import { agent } from 'parley-a2a'
import { createAgentLoop, localTool, mcpTools } from 'parley-a2a/loop'
import { z } from 'zod'
import { createModel } from './model.ts'

const stock = mcpTools({ command: process.execPath, args: [fileURLToPath(new URL('stock.ts', import.meta.url))] })

const order = localTool({
  name: 'order',
  description: 'Orders pieces of an article from the supplier.',
  input: z.object({ article: z.string(), pieces: z.number().int().positive() }),
  run: ({ article, pieces }) => ({ ordered: `${pieces} x ${article}` }),
})

/** Answers questions about the shop with a model and tools. */
export const shop = agent(
  { name: 'Shop', description: 'Answers questions about furniture', recovery: 'resume' },
  createAgentLoop({
    model: createModel(),
    instructions: 'You work in a furniture shop. Look into the stock before you answer. Be brief.',
    tools: [stock, order],
  }),
)

/** Stops the MCP server. */
export const closeTools = () => stock.close()
