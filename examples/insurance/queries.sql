-- title: Find a checkpoint
SELECT checkpoint_id, checkpoint_ns_hash, parent_checkpoint_id
FROM checkpoints
WHERE thread_id = 'thread_001'
    AND checkpoint_id = 'ckpt_007'
    AND checkpoint_ns = '';

-- title: Its values
SELECT channel, version, type, blob_data
FROM checkpoint_blobs
WHERE thread_id = 'thread_001'
    AND checkpoint_ns_hash = 'abc123...'   -- ckpt_007 的 hash
ORDER BY channel, version;

-- title: What each task wrote, in order
SELECT
    task_id, idx, channel, task_path,
    LENGTH(blob_data) as data_size, gmt_create
FROM checkpoint_writes
WHERE thread_id = 'thread_001'
    AND checkpoint_id = 'ckpt_005'
    AND checkpoint_ns = ''
ORDER BY gmt_create, idx;

-- title: How the agent behaves
SELECT
    task_id,
    COUNT(*) as write_count,
    SUM(LENGTH(blob_data)) / 1024 / 1024 as total_mb,
    AVG(LENGTH(blob_data)) as avg_bytes
FROM checkpoint_writes
WHERE thread_id LIKE 'thread_%'
    AND gmt_create >= '2026-04-01'
    AND checkpoint_ns = ''
GROUP BY task_id
ORDER BY write_count DESC;

-- title: What was written, in kilobytes
-- writes 总量(所有 task 的写入)
SELECT SUM(LENGTH(blob_data)) / 1024 as writes_kb
FROM checkpoint_writes
WHERE thread_id = 'thread_001' AND checkpoint_id = 'ckpt_005';

-- title: What is kept, in kilobytes
-- blobs 总量(合并后的最终状态)
SELECT SUM(LENGTH(blob_data)) / 1024 as blobs_kb
FROM checkpoint_blobs
WHERE thread_id = 'thread_001'
    AND checkpoint_ns_hash = (
        SELECT checkpoint_ns_hash FROM checkpoints WHERE checkpoint_id = 'ckpt_005'
    );

-- title: The execution trace of ckpt_003
-- 查看 ckpt_003 中每个 node 的贡献
SELECT 
    task_id,
    channel,
    LENGTH(blob_data) as bytes,
    gmt_create
FROM checkpoint_writes
WHERE thread_id = 'thread_abc123'
    AND checkpoint_id = 'ckpt_003'
ORDER BY gmt_create;

-- title: Bytes written for ckpt_003
-- ckpt_003 的 writes 总量
SELECT SUM(LENGTH(blob_data)) as writes_total_bytes
FROM checkpoint_writes
WHERE thread_id = 'thread_abc123' AND checkpoint_id = 'ckpt_003';

-- title: Bytes kept
-- ckpt_003 的 blobs 总量
SELECT SUM(LENGTH(blob_data)) as blobs_total_bytes
FROM checkpoint_blobs
WHERE thread_id = 'thread_abc123' 
    AND checkpoint_ns_hash = 'd41d8cd...';
