-- How correctness develops along severity 0, 1, ... for one (item, corruption). Only whole trajectories are judged:
-- a change cannot be called persistent if a severity after it was set aside.

CREATE TABLE paths AS
WITH steps AS (
    SELECT *, correct <> correct_clean AS changed,
           correct <> lag(correct, 1, correct_clean) OVER (PARTITION BY item_id, corruption ORDER BY severity) AS flipped
    FROM measured
)
SELECT model, item_id, image_id, corruption, family, correct_clean,
       min(severity) FILTER (changed) AS onset,
       max(severity) FILTER (NOT changed) AS last_unchanged,
       count(*) FILTER (flipped) AS flips,
       count(*) = (SELECT count(*) FROM severities) AS whole
FROM steps
GROUP BY ALL
ORDER BY item_id, corruption;

CREATE TABLE trajectories AS
SELECT model, item_id, image_id, corruption, family, correct_clean,
       CASE
           WHEN onset IS NULL THEN 'stable'
           WHEN last_unchanged > onset THEN 'transient'
           ELSE 'persistent'
       END AS kind,
       onset, flips::TINYINT AS flips
FROM paths WHERE whole
ORDER BY item_id, corruption;
