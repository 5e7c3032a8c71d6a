import { Router } from 'express';
import { AgentLoop } from './agent-loop';
import { v4 as uuidv4 } from 'uuid';

const router = Router();

router.post('/v1/message:stream', async (req, res) => {
  const { message, configuration } = req.body;

  // Set SSE headers
  res.setHeader('Content-Type', 'text/event-stream');
  res.setHeader('Cache-Control', 'no-cache');
  res.setHeader('Connection', 'keep-alive');

  const taskId = uuidv4();
  const contextId = message.contextId || uuidv4();

  // Create initial Task response
  const initialTask = {
    kind: 'task',
    id: taskId,
    contextId,
    status: {
      state: 'submitted',
      timestamp: new Date().toISOString()
    },
    history: [message]
  };

  // Send initial task
  res.write(`data: ${JSON.stringify(initialTask)}\n\n`);

  // Create agent loop and subscribe
  const agent = new AgentLoop();

  agent.invoke(message.parts, { taskId, contextId }).subscribe({
    next: (event) => {
      // Map internal events to A2A format
      let a2aEvent;

      if (event.type === 'status-update') {
        a2aEvent = {
          kind: 'status-update',
          taskId,
          contextId,
          status: {
            state: event.state,
            timestamp: new Date().toISOString()
          },
          final: event.final || false
        };
      } else if (event.type === 'artifact-chunk') {
        a2aEvent = {
          kind: 'artifact-update',
          taskId,
          contextId,
          artifact: {
            artifactId: event.artifactId,
            parts: [{ kind: 'text', text: event.chunk }]
          },
          append: event.append,
          lastChunk: event.lastChunk
        };
      }

      if (a2aEvent) {
        res.write(`data: ${JSON.stringify(a2aEvent)}\n\n`);
      }
    },
    complete: () => {
      // Send final status update
      const finalEvent = {
        kind: 'status-update',
        taskId,
        contextId,
        status: {
          state: 'completed',
          timestamp: new Date().toISOString()
        },
        final: true
      };
      res.write(`data: ${JSON.stringify(finalEvent)}\n\n`);
      res.end();
    },
    error: (error) => {
      const errorEvent = {
        error: {
          code: 500,
          message: error.message,
          data: { taskId }
        }
      };
      res.write(`data: ${JSON.stringify(errorEvent)}\n\n`);
      res.end();
    }
  });

  // Keep-alive interval
  const keepAlive = setInterval(() => {
    res.write(': keep-alive\n\n');
  }, 30000);

  req.on('close', () => {
    clearInterval(keepAlive);
    agent.cancel(taskId);
  });
});

// Non-streaming message/send endpoint
router.post('/v1/message:send', async (req, res) => {
  const { message } = req.body;

  const agent = new AgentLoop();
  const taskId = message.taskId || uuidv4();
  const contextId = message.contextId || uuidv4();

  try {
    const result = await agent.invokeSync(message.parts, { taskId, contextId });

    res.json({
      kind: 'task',
      id: taskId,
      contextId,
      status: {
        state: 'completed',
        timestamp: new Date().toISOString()
      },
      artifacts: result.artifacts
    });
  } catch (error) {
    res.status(500).json({
      error: {
        code: 500,
        message: error.message
      }
    });
  }
});

export default router;
